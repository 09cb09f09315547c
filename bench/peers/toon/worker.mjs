// Writes JSON texts as TOON with the official package, and reads them back: node worker.mjs FOLDER (see ../worker.py)
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const folder = join(process.argv[2], "node_modules", "@toon-format", "toon");
const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const entry = about.exports["."];
const { encode, decode } = await import(join(folder, entry.import?.default ?? entry.default ?? about.main));

const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n");
answer({ versions: { "@toon-format/toon": about.version } });
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const values = asked.texts.map((text) => JSON.parse(text));
  const before = process.cpuUsage();
  const texts = values.map((value) => encode(value));
  const spent = process.cpuUsage(before);
  const back = texts.map((text) => JSON.stringify(decode(text)));
  answer({ texts, back, seconds: (spent.user + spent.system) / 1e6 });
}
