// Renews the home page, tries budgets and policies, loads items when they are opened, copies commands, and shows times
// in the reader's zone. Every page works without it.
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
    if (element.dataset.with) {
      const day = at.toLocaleDateString([], { day: "2-digit", month: "short" });
      const parts = { hour: clock.slice(0, 5), day, both: `${day} ${clock.slice(0, 5)}` };
      element.textContent = parts[element.dataset.with];
      continue;
    }
    element.textContent = today ? clock : `${at.toLocaleDateString()} ${clock.slice(0, 5)}`;
  }
}

// The server has escaped whatever is content; scripts in it would not run under the page's policy either.
function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html").body;
}

function watchLive() {
  const address = byId("main").dataset.live;
  const pause = byId("pause");
  const summary = byId("summary");
  if (!address || !pause) return;
  const shown = {};
  let paused = false;
  let wait = EVERY;
  let timer = 0;
  let announced = Date.now();

  function show(parts) {
    for (const [id, html] of Object.entries(parts)) {
      const old = byId(id);
      // A part is left alone while the keyboard or a selection is in it.
      if (!old || shown[id] === html || old.contains(document.activeElement) || selecting(old)) continue;
      shown[id] = html;
      const made = parsed(html);
      localTimes(made);
      const scrolled = Array.from(old.querySelectorAll(".scroll"), (box) => box.scrollLeft);
      old.replaceChildren(...made.childNodes);
      old.querySelectorAll(".scroll").forEach((box, place) => (box.scrollLeft = scrolled[place] || 0));
    }
    // The sentence on the page renews with its numbers; screen readers are told at most a few times a minute.
    const told = byId("sentence").textContent;
    if (summary.textContent !== told && Date.now() - announced >= ANNOUNCE) {
      summary.textContent = told;
      announced = Date.now();
    }
  }

  function selecting(element) {
    const selection = document.getSelection();
    return !selection.isCollapsed && element.contains(selection.anchorNode);
  }

  async function renew() {
    timer = 0;
    if (paused || document.hidden) return;
    try {
      const answer = await fetch(address, { cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      show((await answer.json()).parts);
      wait = EVERY;
    } catch (problem) {
      byId("sentence").textContent = `The gateway does not answer (${problem.message}); the numbers are old.`;
      summary.textContent = byId("sentence").textContent;
      delete shown.sentence;
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

function watchFilters() {
  const form = byId("filters");
  if (form) form.addEventListener("change", () => form.requestSubmit());
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
    byId("plan").setAttribute("aria-busy", "true");
    const query = new URLSearchParams(new FormData(form));
    try {
      const answer = await fetch(`${form.dataset.fragment}?${query}`, { signal: mine.signal, cache: "no-store" });
      if (!answer.ok && answer.status !== 422) throw new Error(`status ${answer.status}`);
      const made = parsed(await answer.text()).querySelector("#plan");
      if (!made) throw new Error("no plan came back");
      localTimes(made);
      byId("plan").replaceWith(made);
      const parts = made.querySelectorAll("h3:first-child, #told-plan");
      told.textContent = Array.from(parts, (part) => part.textContent).join(": ");
      history.replaceState(null, "", `${form.getAttribute("action")}?${query}`);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      byId("plan").removeAttribute("aria-busy");
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
  form.addEventListener("input", (event) => {
    if (event.target === slider) return;
    slider.value = field.value;
    soon();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    tryBudget();
  });
}

// An item's texts are loaded when it is opened; a link on the map opens it.
function watchItems() {
  document.addEventListener(
    "toggle",
    async (event) => {
      const item = event.target;
      const place = item.querySelector && item.querySelector("[data-load]");
      if (!place || !item.open) return;
      const address = place.dataset.load;
      delete place.dataset.load;
      try {
        const answer = await fetch(address, { cache: "no-store" });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        const made = parsed(await answer.text());
        localTimes(made);
        place.replaceChildren(...made.childNodes);
      } catch (problem) {
        place.dataset.load = address;
        place.textContent = `This could not be loaded: ${problem.message}.`;
      }
    },
    true,
  );

  function open() {
    const found = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!found || found.tagName !== "DETAILS") return;
    const only = byId("only-changed");
    if (only && found.classList.contains("same")) only.checked = false;
    found.open = true;
    found.querySelector("summary").focus();
  }
  window.addEventListener("hashchange", open);
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) open();
  });
  open();
}

function watchCopies() {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
      } catch (problem) {
        button.textContent = "Not allowed";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }
}

// A picture that is wider than its place shows the newest first.
for (const box of document.querySelectorAll(".scroll.newest")) box.scrollLeft = box.scrollWidth;
localTimes(document);
watchLive();
watchFilters();
watchBudget();
watchItems();
watchCopies();
