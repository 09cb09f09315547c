// Writes JSON texts as TOON with the official package: node toon.mjs FOLDER_OF_THE_PACKAGE < ["text", …]
import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const entry = about.exports?.["."];
const file = (typeof entry === "string" ? entry : entry?.import?.default ?? entry?.import ?? entry?.default) ?? about.main;
const { encode } = await import(join(folder, file));
const texts = JSON.parse(readFileSync(0, "utf8")).map((text) => encode(JSON.parse(text)));
console.log(JSON.stringify({ version: about.version, texts }));
