// The definitions of TypeScript files by TypeScript's own parser: node definitions.mjs typescript.js FILE… -> JSON.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const ts = createRequire(import.meta.url)(process.argv[2]);
const kinds = new Set(["FunctionDeclaration", "ClassDeclaration", "InterfaceDeclaration", "EnumDeclaration",
  "TypeAliasDeclaration", "MethodDeclaration", "ModuleDeclaration", "GetAccessor", "SetAccessor"]);

function found(source) {
  const all = [];
  const visit = (node, parent) => {
    const kind = ts.SyntaxKind[node.kind];
    const arrow = kind === "VariableDeclaration" && node.initializer && ["ArrowFunction", "FunctionExpression"]
      .includes(ts.SyntaxKind[node.initializer.kind]);
    let holder = parent;
    // An overload or an object's method inside a call is no definition that a reader looks for.
    const listed = arrow || (kinds.has(kind) && (node.body || !["FunctionDeclaration", "MethodDeclaration"].includes(kind)));
    if (listed && node.name && node.name.text) {
      const start = (arrow ? node.parent.parent : node).getStart(source);
      const line = source.getLineAndCharacterOfPosition(node.name.getStart(source)).line + 1;
      const names = ((arrow ? node.initializer : node).parameters ?? []).map((one) => one.name.getText(source));
      all.push({ name: node.name.text, line, parent, parameters: names.filter((one) => /^\w+$/.test(one)), start });
      holder = node.name.text;
      if (arrow || kind === "FunctionDeclaration" || kind === "MethodDeclaration") return; // what a body holds is its own
    }
    ts.forEachChild(node, (child) => visit(child, holder));
  };
  visit(source, "");
  return all;
}

const out = {};
for (const path of process.argv.slice(3)) {
  const text = readFileSync(path, "utf8");
  out[path] = found(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
}
console.log(JSON.stringify(out));
