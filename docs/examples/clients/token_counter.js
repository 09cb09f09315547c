// A VS Code extension that shows in the status bar what the chat in the open file takes, message by message.
// package.json: "main": "token_counter.js", "activationEvents": ["onLanguage:json"], "engines": { "vscode": "^1.90.0" }
const vscode = require("vscode");

const GATEWAY = "http://127.0.0.1:8787";

async function count(request, model) {
  const answer = await fetch(`${GATEWAY}/brim/v1/count`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ request, model }),
  });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error.message);
  return told; // {tokens, upper, source, messages: [tokens of each], head: tokens around them}
}

function activate(context) {
  const shown = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right);
  context.subscriptions.push(shown);

  async function update(editor) {
    if (editor?.document.languageId !== "json") return shown.hide();
    try {
      const body = JSON.parse(editor.document.getText());
      const told = await count(body, body.model ?? "gpt-4o");
      const largest = Math.max(0, ...told.messages);
      shown.text = `$(symbol-numeric) ${told.tokens.toLocaleString("en")} tokens`;
      shown.tooltip = `${told.messages.length} messages, the largest ${largest}; ${told.source}, at most ${told.upper}`;
      shown.show();
    } catch {
      shown.hide(); // no chat, or no gateway
    }
  }

  context.subscriptions.push(vscode.window.onDidChangeActiveTextEditor(update));
  return update(vscode.window.activeTextEditor);
}

module.exports = { activate, count };
