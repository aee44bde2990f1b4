"use strict";
// One item at a time. What the server sends is untrusted text: it is only ever set as textContent.
// Its key is kept in this tab alone and sent in a header: a cookie would go to every port.
const at = (id) => document.getElementById(id);
const KEYS = 9; // classes that have a key of their own
const PART = 5000; // characters that are laid out together
const KEY = "x-unelisa-key";
let key = sessionStorage.getItem("key") || "";
let state = null; // the latest answer of the server
let shown = null; // the item on the page
let busy = false;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function isolate(text) { return element("bdi", text); }
function percent(share) { return share === null ? "cannot be estimated" : `${(100 * share).toFixed(1)}%`; }
function range(low, high) { return low === null || low === undefined ? "no interval yet" : `${percent(low)} to ${percent(high)}`; }
function say(words, bad) { at("status").textContent = words; at("status").className = bad ? "bad" : ""; }

// The token in the address works once; the address bar and the history do not keep it.
async function enter() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  const response = await fetch("enter", { method: "POST", cache: "no-store", headers: { [KEY]: token } }).catch(() => null);
  if (!response || !response.ok) return;
  key = await response.text();
  sessionStorage.setItem("key", key);
}

async function call(path, body) {
  const options = body ? { method: "POST", body: JSON.stringify(body) } : {};
  try {
    const response = await fetch(path, { cache: "no-store", headers: { [KEY]: key }, ...options });
    if (response.status === 403) {
      if (!state) at("name").textContent = "This address was opened before, or is not valid.";
      say("Start unelisa review again for a new address; your answers are kept.", true);
      return null;
    }
    return response;
  } catch {
    say("The review does not answer. Start unelisa review again; all answers shown as saved are kept.", true);
    return null;
  }
}

function show(given) {
  state = given; shown = given.question;
  at("where").textContent = `${given.reviewer} · ${given.file} · ${given.count.toLocaleString("en")} of ${given.total.toLocaleString("en")} items`;
  at("answering").hidden = shown === null;
  drawMeter();
  for (const id of ["again", "picture", "path", "text", "more", "facts", "own-votes"]) at(id).hidden = true;
  if (shown === null) {
    at("kicker").textContent = "";
    at("name").textContent = "There is nothing left to ask.";
    at("name").focus();
    return;
  }
  at("kicker").textContent = shown.answered ? "Answered before" : `Item ${(given.count + 1).toLocaleString("en")} of this review`;
  at("name").replaceChildren(isolate(shown.name));
  at("again").hidden = !shown.again;
  drawContent();
  drawAnswers();
  at("note").value = shown.note;
  at("forward").hidden = !shown.answered;
  if (shown.votes) { at("own-votes").hidden = false; drawVotes(at("own-votes"), shown.votes); }
  at("name").focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function drawContent() {
  at("path").hidden = !shown.path; at("path").textContent = shown.path;
  at("picture").hidden = !shown.picture;
  if (shown.picture) drawPicture(shown);
  at("text").hidden = !shown.text; fill(shown.text); at("text").scrollTop = 0;
  at("text").tabIndex = shown.text.length > 400 ? 0 : -1;
  const cut = shown.length > shown.text.length;
  at("more").hidden = !cut;
  if (cut) at("more").textContent = `Show all ${shown.length.toLocaleString("en")} characters`;
  at("facts").hidden = shown.facts.length === 0;
  at("facts").tBodies[0].replaceChildren(...shown.facts.map(([name, value]) => {
    const row = element("tr"), head = element("th", name), cell = element("td");
    head.scope = "row"; cell.append(isolate(value)); row.append(head, cell);
    return row;
  }));
}

async function drawPicture(item) {
  at("picture").alt = `Picture of ${item.name}`;
  URL.revokeObjectURL(at("picture").src);
  at("picture").removeAttribute("src");
  const response = await call(`picture/${item.item}`);
  const content = response && response.ok ? await response.blob() : null;
  if (content && item === shown) at("picture").src = URL.createObjectURL(content);
}

// in parts that are laid out as they come into view: one line of a megabyte would take minutes
function fill(text) {
  const parts = [];
  for (let start = 0; start < text.length;) {
    const cut = text.lastIndexOf("\n", start + PART) + 1;
    const end = start + PART >= text.length ? text.length : cut > start ? cut : start + PART;
    parts.push(element("div", text.slice(start, end)));
    start = end;
  }
  at("text").replaceChildren(...parts);
}

function drawAnswers() {
  const many = state.classes.length > KEYS;
  at("answers").className = many ? "many" : "";
  at("answers").replaceChildren(...state.classes.map((label, k) => {
    const button = element("button");
    button.type = "button";
    button.append(element("kbd", String(k + 1)), isolate(label));
    button.setAttribute("aria-pressed", String(shown.answered && shown.label === k));
    button.addEventListener("click", () => answer(k));
    return button;
  }));
  at("typed").hidden = !many;
  at("typing").value = "";
  if (many) at("labels").replaceChildren(...state.classes.map((label) => Object.assign(element("option"), { value: label })));
  at("hint").textContent = many ? "Esc leaves the note and the field" : `1 ${state.classes.length > 2 ? "to" : "and"} ${state.classes.length} answer, s skips, b goes back, n writes a note`;
}

function drawVotes(place, votes) {
  const list = element("ul");
  state.classes.forEach((label, k) => {
    const opinion = votes.opinions.find((one) => one.label === k);
    if (!opinion && (votes.chances[k] < 0.005 || state.classes.length > KEYS)) return;
    const row = element("li"), left = element("span"), right = element("span", undefined, "who");
    const name = element("b"); name.append(isolate(label));
    left.append(name, element("span", `model: ${percent(votes.chances[k])}`, "share"));
    const names = opinion ? opinion.voters.join(", ") : "";
    const rest = opinion && opinion.count > opinion.voters.length ? ` and ${opinion.count - opinion.voters.length} more` : "";
    right.textContent = opinion ? `${opinion.count} ${opinion.count === 1 ? "vote" : "votes"}: ${names}${rest}` : votes.opinions.length ? "no votes" : "";
    row.append(left, right); list.append(row);
  });
  place.replaceChildren(list);
}

function drawLast(last) {
  at("last").hidden = false;
  const words = at("last-words"), said = last.label === null ? "skipped" : state.classes[last.label];
  words.replaceChildren(isolate(last.name), ": ", element("b"));
  words.lastChild.append(isolate(said));
  drawVotes(at("last-votes"), last.votes);
}

async function answer(label) {
  if (busy || !shown) return;
  busy = true;
  const given = { item: shown.item, label, note: at("note").value, seen: shown.label, answered: shown.answered };
  try {
    const response = await call("answer", given);
    if (response) take(await response.json(), label);
  } finally { busy = false; }
}

function take(next, label) {
  if (next.error) { say(next.error, true); return; }
  const known = state.count;
  show(next);
  if (next.last.answered) drawLast(next.last);
  say(next.conflict ? "This item was answered in another tab; that answer is kept." : label === null ? "Skipped." : "Saved.", false);
  if (next.count !== known && next.count % next.every === 0) report();
}

async function ask(path) {
  if (busy) return;
  const response = await call(path);
  if (!response) return;
  const given = await response.json();
  if (given.error) say(given.error, true); else show(given);
}

function drawMeter() {
  const done = state.count % state.every, left = state.every - done;
  at("meter").replaceChildren(...Array.from({ length: state.every }, (_, k) => element("i", "", k < done ? "on" : "")));
  at("until").textContent = `${left} more ${left === 1 ? "answer" : "answers"} until the next update`;
}

function addFigure(list, what, value, more) {
  const cell = element("dd");
  cell.append(element("span", value, "figure"), " ", element("span", more));
  list.append(element("dt", what), cell);
}

async function report() {
  at("progress").setAttribute("aria-busy", "true");
  if (at("facts-so-far").childElementCount) say(`${at("status").textContent} Updating the progress …`, false);
  const response = await call("progress");
  at("progress").removeAttribute("aria-busy");
  if (!response) return;
  const given = await response.json(), place = at("facts-so-far");
  if (given.error) { place.replaceChildren(element("p", given.error)); return; }
  const list = element("dl");
  if (given.expected) addFigure(list, "Expected accuracy of the labels", percent(given.expected.share), range(given.expected.low, given.expected.high));
  if (given.measured) addFigure(list, `Accuracy measured on ${given.measured.labels} random items`, percent(given.measured.share), range(given.measured.low, given.measured.high));
  addFigure(list, "Gold labels", given.labeled.toLocaleString("en"), given.skipped ? `${given.skipped} skipped` : "");
  place.replaceChildren(element("p", given.outlook.words, given.outlook.enough ? "outlook enough" : "outlook"), list);
  for (const caution of given.cautions) place.append(element("p", `${caution[0].toUpperCase()}${caution.slice(1)}.`, "again"));
  if (given.rates.length) place.append(...drawRates(given));
  if (given.readings.length) place.append(...drawReadings(given.readings));
  if (given.agreement.length) place.append(...drawAgreement(given));
  if (at("status").textContent.includes("Updating")) say("The progress is up to date.", false);
}

function drawRates(given) {
  const table = element("table", undefined, "rates"), head = element("tr"), body = element("tbody");
  for (const title of ["label", "share", "90% interval"]) head.append(Object.assign(element("th", title), { scope: "col" }));
  const top = element("thead"); top.append(head);
  for (const row of given.rates.slice(0, 20)) {
    const line = element("tr"), name = element("th");
    name.scope = "row"; name.append(isolate(String(row.class)));
    line.append(name, element("td", percent(row.share)), element("td", row.low === null ? "–" : `${percent(row.low)} to ${percent(row.high)}`));
    body.append(line);
  }
  table.append(top, body);
  const basis = element("p", given.sampled ? `From ${given.sampled} random items: the intervals hold without assuming that the model is right.` : "The model's own estimate. A review with ", "soft");
  if (!given.sampled) basis.append(element("code", "--aim rate"), " measures it.");
  return [element("h3", "How common each label is"), table, basis];
}

function drawReadings(readings) {
  const list = element("ul");
  for (const one of readings) {
    const share = one.share === null ? "" : `, ${percent(one.share)} ${state.classes[1]}`;
    const row = element("li"), name = element("span", `${one.structure}${share}`, one.state === "ruled out" ? "ruled-out" : "");
    row.append(name, ` (${one.state})`); list.append(row);
  }
  return [element("h3", "Readings of the votes"), list];
}

function drawAgreement(given) {
  const list = element("ul");
  for (const pair of given.agreement) {
    const kappa = pair.kappa === null ? "" : `, kappa ${pair.kappa.toFixed(2)}`;
    list.append(element("li", `${pair.first} and ${pair.second}: ${pair.same} of ${pair.both} alike${kappa}`));
  }
  const open = given.disputed ? [element("p", `${given.disputed} ${given.disputed === 1 ? "item has" : "items have"} different labels and count as unlabeled`, "soft")] : [];
  return [element("h3", "Agreement of the reviewers"), list, ...open];
}

function pressed(event) {
  const typing = event.target.tagName === "INPUT" && event.target.type !== "checkbox";
  if (event.key === "Escape") { if (typing) at("name").focus(); else if (shown && shown.answered) ask("question"); return; }
  if (typing && event.target.id === "note" && event.key === "Enter") { event.preventDefault(); at("name").focus(); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat || !at("shortcuts").checked || !shown) return;
  const number = Number(event.key);
  if (state.classes.length <= KEYS && number >= 1 && number <= state.classes.length) { event.preventDefault(); answer(number - 1); }
  else if (event.key === "s") answer(null);
  else if (event.key === "b") ask(`question?before=${shown.item}`);
  else if (event.key === "n") { event.preventDefault(); at("note").focus(); }
}

at("skip").addEventListener("click", () => answer(null));
at("back").addEventListener("click", () => ask(`question?before=${shown ? shown.item : ""}`));
at("forward").addEventListener("click", () => ask("question"));
at("more").addEventListener("click", async () => {
  const response = await call(`text/${shown.item}`);
  if (response && response.ok) { fill(await response.text()); at("more").hidden = true; }
});
at("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = at("typing").value.trim().toLowerCase(), number = Number(typed);
  const fits = state.classes.map((_, k) => k).filter((k) => state.classes[k].toLowerCase() === typed);
  const begins = state.classes.map((_, k) => k).filter((k) => state.classes[k].toLowerCase().startsWith(typed));
  const found = fits.length === 1 ? fits : Number.isInteger(number) && number >= 1 && number <= state.classes.length ? [number - 1] : begins;
  if (typed && found.length === 1) answer(found[0]); else say("Type a number or the beginning of one label.", true);
});
document.addEventListener("keydown", pressed);
enter().then(() => ask("question")).then(() => { if (state) report(); });
