// One agent loop with the client library that a host is built on: node js_client.mjs LIBRARY BASE_URL HEADERS_JSON
// It calls `read_log` as often as the model asks, streaming where the library streams, and prints the answer.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [library, base, headersJson, request, folder] = process.argv.slice(2);
const headers = JSON.parse(headersJson);
const near = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(near.resolve(name)).href);
const log = (day) =>
  [`log of day ${day}`, ...Array.from({ length: 60 }, (_, n) => `${day}-${n} berth_${(day * 7 + n) % 40} ship S${day * 131 + n * 17} dues ${n * 3}.5`)].join("\n");
const parameters = { type: "object", properties: { day: { type: "number" } }, required: ["day"] };
const description = "Read the harbour's log of a day.";

async function openai() {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ baseURL: base, apiKey: "any", defaultHeaders: headers, maxRetries: 0 });
  const tools = [{ type: "function", function: { name: "read_log", description, parameters } }];
  const messages = [{ role: "user", content: request }];
  for (;;) {
    const stream = client.chat.completions.stream({ model: "gpt-4o", messages, tools });
    const said = (await stream.finalChatCompletion()).choices[0].message;
    if (!said.tool_calls?.length) return said.content;
    messages.push({ role: "assistant", content: said.content, tool_calls: said.tool_calls.map(({ id, type, function: f }) => ({ id, type, function: { name: f.name, arguments: f.arguments } })) });
    for (const call of said.tool_calls)
      messages.push({ role: "tool", tool_call_id: call.id, content: log(JSON.parse(call.function.arguments).day) });
  }
}

async function langchain() {
  const { ChatOpenAI } = await load("@langchain/openai");
  const { HumanMessage, ToolMessage } = await load("@langchain/core/messages");
  const model = new ChatOpenAI({
    model: "gpt-4o", apiKey: "any", maxRetries: 0, streaming: true, configuration: { baseURL: base, defaultHeaders: headers, dangerouslyAllowBrowser: true },
  }).bindTools([{ type: "function", function: { name: "read_log", description, parameters } }]);
  const messages = [new HumanMessage(request)];
  for (;;) {
    let said;
    for await (const chunk of await model.stream(messages)) said = said ? said.concat(chunk) : chunk;
    if (!said.tool_calls?.length) return said.content;
    messages.push(said);
    for (const call of said.tool_calls) messages.push(new ToolMessage({ content: log(call.args.day), tool_call_id: call.id }));
  }
}

async function vercel() {
  const { streamText, tool, jsonSchema, stepCountIs } = await load("ai");
  const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({ name: "brim", baseURL: base, apiKey: "any", headers });
  const read_log = tool({ description, inputSchema: jsonSchema(parameters), execute: async ({ day }) => log(day) });
  const result = streamText({ model: provider("gpt-4o"), prompt: request, tools: { read_log }, stopWhen: stepCountIs(50), maxRetries: 0 });
  let said = "";
  for await (const piece of result.textStream) said += piece;
  return said;
}

async function ollama() {
  const { Ollama } = await load("ollama");
  const client = new Ollama({ host: base.replace(/\/v1$/, ""), headers });
  const tools = [{ type: "function", function: { name: "read_log", description, parameters } }];
  const messages = [{ role: "user", content: request }];
  for (;;) {
    let content = "", calls = [];
    for await (const part of await client.chat({ model: "gpt-4o", messages, tools, stream: true })) {
      content += part.message.content ?? "";
      calls = calls.concat(part.message.tool_calls ?? []);
    }
    if (!calls.length) return content;
    messages.push({ role: "assistant", content, tool_calls: calls });
    for (const call of calls) messages.push({ role: "tool", tool_name: call.function.name, content: log(call.function.arguments.day) });
  }
}

console.log(await { openai, langchain, vercel, ollama }[library]());
