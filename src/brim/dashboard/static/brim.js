// Renews the live page, adds a slider to the plan of a turn, and shows times in the reader's zone.
// Every page works without it.
"use strict";

const EVERY = 3000;
const SLOWEST = 60000;
const ANNOUNCE = 15000;
const byId = (id) => document.getElementById(id);

function localTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const today = at.toDateString() === new Date().toDateString();
    const clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
    element.title = at.toString();
    element.textContent = today ? clock : `${at.toLocaleDateString()} ${clock.slice(0, 5)}`;
  }
}

// The server has escaped whatever is content; scripts in it would not run under the page's policy either.
function parsed(html, wrapper) {
  const found = new DOMParser().parseFromString(wrapper ? `<table><tbody>${html}</tbody></table>` : html, "text/html");
  return wrapper ? found.querySelector("tbody") : found.body;
}

function watchLive() {
  const rows = byId("rows");
  const pause = byId("pause");
  const summary = byId("summary");
  const sentence = byId("sentence");
  if (!pause || !rows) return;
  let paused = false;
  let wait = EVERY;
  let timer = 0;
  let lastRows = "";
  let announced = Date.now();

  function show(live) {
    for (const element of document.querySelectorAll("[data-live]")) {
      const text = live.texts[element.dataset.live];
      if (text !== undefined && element.textContent !== text) element.textContent = text;
    }
    // The sentence on the page renews with its numbers; screen readers are told at most a few times a minute.
    if (summary.textContent !== live.texts.summary && Date.now() - announced >= ANNOUNCE) {
      summary.textContent = live.texts.summary;
      announced = Date.now();
    }
    // Rows are left alone while the keyboard is among them.
    if (live.rows && live.rows !== lastRows && !rows.contains(document.activeElement)) {
      const made = parsed(live.rows, true);
      localTimes(made);
      rows.replaceChildren(...made.childNodes);
      lastRows = live.rows;
    }
  }

  async function renew() {
    timer = 0;
    if (paused || document.hidden) return;
    try {
      const answer = await fetch("live.json", { cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      show(await answer.json());
      wait = EVERY;
    } catch (problem) {
      sentence.textContent = `The gateway does not answer (${problem.message}); the numbers are old.`;
      if (summary.textContent !== sentence.textContent) summary.textContent = sentence.textContent;
      announced = 0;
      wait = Math.min(SLOWEST, wait * 2);
    }
    plan();
  }

  function plan() {
    if (!timer && !paused && !document.hidden) timer = setTimeout(renew, wait);
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    clearTimeout(timer);
    timer = 0;
    if (!paused) renew();
  });
  document.addEventListener("visibilitychange", plan);
  plan();
}

function watchBudget() {
  const form = byId("try-budget");
  if (!form) return;
  const field = byId("budget");
  const slider = byId("slider");
  const told = byId("told");
  let timer = 0;
  let running = null;

  async function tryBudget() {
    if (!field.checkValidity()) return;
    if (running) running.abort();
    const mine = (running = new AbortController());
    const plan = byId("plan");
    plan.setAttribute("aria-busy", "true");
    const query = new URLSearchParams({ budget: field.value });
    try {
      const answer = await fetch(`${form.dataset.fragment}?${query}`, { signal: mine.signal, cache: "no-store" });
      if (!answer.ok && answer.status !== 422) throw new Error(`status ${answer.status}`);
      const made = parsed(await answer.text(), false).querySelector("#plan");
      if (!made) throw new Error("no plan came back");
      localTimes(made);
      byId("plan").replaceWith(made);
      const parts = made.querySelectorAll("h3:first-child, #told-plan");
      told.textContent = Array.from(parts, (part) => part.textContent).join(": ");
      history.replaceState(null, "", `${form.getAttribute("action")}?${query}`);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      plan.removeAttribute("aria-busy");
      told.classList.remove("visually-hidden");
      told.textContent = `The plan could not be made: ${problem.message}.`;
    }
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(tryBudget, 200);
  }

  byId("slider-box").hidden = false;
  slider.addEventListener("input", () => {
    field.value = slider.value;
    slider.setAttribute("aria-valuetext", `${Number(slider.value).toLocaleString("en")} tokens`);
    soon();
  });
  field.addEventListener("input", () => {
    slider.value = field.value;
    soon();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    tryBudget();
  });
}

// A picture that is wider than its place shows the newest first.
for (const box of document.querySelectorAll(".scroll.newest")) box.scrollLeft = box.scrollWidth;
localTimes(document);
watchLive();
watchBudget();
