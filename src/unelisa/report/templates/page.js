"use strict";
// The page works without this script: it adds the moving graph, search, sorting, pages and saving.
// Names reach the document as text only (textContent), never as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const table = byId("voters");
  const rows = []; // in the order of the voters' numbers
  for (const row of table.tBodies[0].rows) rows[Number(row.dataset.voter)] = row;
  const names = rows.map((row) => row.cells[0].textContent.trim());
  let graph = null;

  function make(tag, text, className) {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    if (className) element.className = className;
    return element;
  }

  // -- the graph ---------------------------------------------------------------------------------

  const OUTSIDE = ["left out", "pruned", "uninformative"];
  const FAMILY_COLORS = 7;
  const LONGEST_LABEL = 17;
  const STEP = 1.3; // of one zoom
  const MARGIN = 28;

  function shorten(name) {
    const letters = Array.from(name); // whole characters, not halves of a pair
    return letters.length <= LONGEST_LABEL ? name : letters.slice(0, LONGEST_LABEL - 1).join("") + "…";
  }

  function listElements(drawn) {
    const side = (sign) => (sign > 0 ? "plus" : "minus");
    const truth = { data: { id: "truth", label: "truth", size: drawn.truth }, position: { x: 0, y: 0 }, classes: "truth" };
    const outside = (voter) => OUTSIDE.includes(drawn.nodes[voter][3]);
    const nodes = drawn.nodes.map((node, voter) => node && ({
      data: { id: `v${voter}`, voter, label: shorten(names[voter]), size: node[2] },
      position: { x: node[0], y: node[1] },
      classes: node[3].replace(" ", "-") + (outside(voter) ? " outside" : "") + relations(rows[voter]),
    })).filter(Boolean);
    const ties = drawn.ties.map(([voter, width, sign]) => ({
      data: { id: `t${voter}`, source: "truth", target: `v${voter}`, width },
      classes: `tie ${side(sign)}`,
    }));
    const links = drawn.links.map(([s, t, width, sign]) => ({
      data: { id: `l${s}-${t}`, source: `v${s}`, target: `v${t}`, width },
      classes: `link ${side(sign)}${outside(s) || outside(t) ? " faded" : ""}`,
    }));
    return [...links, ...ties, ...listRest(drawn.rest), ...drawn.families.flatMap((family) => listFamily(family, drawn.hub)), truth, ...nodes];
  }

  // Voters who depend on nobody are one node, where they are many.
  function listRest(rest) {
    if (!rest) return [];
    const [x, y] = rest.place;
    const node = { data: { id: "rest", label: rest.label, size: rest.size }, position: { x, y }, classes: "counted rest" };
    return [node, { data: { id: "trest", source: "truth", target: "rest", width: rest.width }, classes: "tie plus" }];
  }

  function relations(row) {
    const kin = /family-\d/.exec(row.className);
    return kin ? ` related ${kin[0]}` : "";
  }

  // A family is an arc before its voters, from which a stem leads to each: short lines between points.
  function listFamily({ number, color, hub, arc, stems, width, sign }, size) {
    const classes = `kin kin-${number} family-${color}`;
    const point = (id, x, y) => ({ data: { id, size: 1 }, position: { x, y }, classes: `${classes} point` });
    const line = (source, target) => ({ data: { id: `${source}-${target}`, source, target, width: 2.5 }, classes });
    const name = `h${number}`;
    const head = { data: { id: name, family: number, label: `family of ${shorten(names[stems[0][0]])}`, size }, position: { x: hub[0], y: hub[1] }, classes: `${classes} hub` };
    const tie = { data: { id: `t${name}`, source: "truth", target: name, width }, classes: `tie ${sign > 0 ? "plus" : "minus"} kin-${number}` };
    const bow = arc.map(([x, y], k) => point(`${name}.${k}`, x, y));
    const feet = stems.map(([voter, x, y]) => point(`${name}v${voter}`, x, y));
    const bows = arc.slice(1).map((_, k) => line(`${name}.${k}`, `${name}.${k + 1}`));
    return [...bow, ...feet, head, tie, ...bows, ...stems.map(([voter]) => line(`${name}v${voter}`, `v${voter}`))];
  }

  function looks() {
    const css = getComputedStyle(document.documentElement);
    const color = (name) => css.getPropertyValue(`--${name}`).trim();
    const label = {
      label: "data(label)", color: color("ink"), "font-size": 12, "font-family": "system-ui, sans-serif",
      "text-valign": "bottom", "text-margin-y": 4, "min-zoomed-font-size": 7,
      "text-background-color": color("card"), "text-background-opacity": 0.75, "text-background-padding": 1,
    };
    return [
      { selector: "node", style: { width: "data(size)", height: "data(size)", "overlay-opacity": 0, ...label } },
      { selector: "node.expert", style: { "background-color": color("blue") } },
      { selector: "node.counted, node.family", style: { "background-color": color("mid") } },
      { selector: "node.contrarian", style: { "background-color": color("red"), shape: "diamond", width: "mapData(size, 0, 100, 0, 128)", height: "mapData(size, 0, 100, 0, 128)" } },
      { selector: "node.outside", style: { "background-color": color("gray"), color: color("soft"), "font-size": 10 } },
      { selector: "node.truth", style: {
        "background-color": color("card"), "border-width": 2.5, "border-color": color("ink"), "font-size": 15, "font-weight": "bold",
        "text-valign": "center", "text-margin-y": 0, "text-background-opacity": 0, events: "no" } },
      { selector: "edge", style: { width: "data(width)", "curve-style": "straight", "overlay-opacity": 0, events: "no" } },
      { selector: "edge.plus", style: { "line-color": color("blue") } },
      { selector: "edge.minus", style: { "line-color": color("red") } },
      { selector: "edge.link", style: { "line-style": "dashed", "line-dash-pattern": [5, 4], opacity: 0.55 } },
      { selector: "edge.faded", style: { opacity: 0.3 } },
      ...Array.from({ length: FAMILY_COLORS }, (_, k) => [
        { selector: `node.related.family-${k}`, style: { "border-width": 3, "border-color": color(`kin-${k}`) } },
        { selector: `edge.kin.family-${k}`, style: { "line-color": color(`kin-${k}`), "line-cap": "round" } },
        { selector: `node.hub.family-${k}`, style: { "background-color": color(`kin-${k}`), "text-opacity": 0, "text-background-opacity": 0 } },
      ]).flat(),
      { selector: "node.point", style: { label: "", opacity: 0, events: "no" } },
      { selector: ".away", style: { opacity: 0.12 } },
      { selector: "node.hub.near", style: { "text-opacity": 1, "text-background-opacity": 0.75 } },
      // the voter at hand is named at any zoom
      { selector: "node.chosen, node.near", style: { "min-zoomed-font-size": 0, "font-size": () => Math.max(12, 12 / graph.zoom()), "z-index": 10 } },
      { selector: "node.chosen", style: { "border-width": 4, "border-color": color("ink"), "font-weight": "bold" } },
      { selector: ".hidden", style: { display: "none" } },
    ];
  }

  // One finger scrolls the page, two move the graph: the library would keep the first for itself.
  // The end of such a scroll, which nobody can cancel, is not for it either.
  function leaveOneFinger(event) {
    const scrolls = event.type === "touchend" ? !event.cancelable : event.touches.length === 1;
    if (scrolls && byId("graph").contains(event.target)) event.stopImmediatePropagation();
  }

  function startGraph() {
    const container = byId("graph");
    for (const kind of ["touchmove", "touchend"]) addEventListener(kind, leaveOneFinger, { capture: true, passive: true });
    container.hidden = false;
    container.parentElement.classList.add("live");
    graph = cytoscape({
      container, elements: listElements(JSON.parse(byId("graph-drawn").textContent)), style: looks(),
      layout: { name: "preset", fit: true, padding: MARGIN },
      autoungrabify: true, autounselectify: true, boxSelectionEnabled: false, minZoom: 0.1, maxZoom: 5,
    });
    graph.on("tap", "node", ({ target }) => {
      if (target.hasClass("hub")) openFamily(target);
      else if (target.hasClass("rest")) openRest(target);
      else openCard(target.data("voter"), { beside: "#graph-section" });
    });
    graph.on("tap", (event) => { if (event.target === graph) closeCard(); });
    graph.on("mouseover", "node", (event) => { event.target.addClass("near"); container.style.cursor = "pointer"; });
    graph.on("mouseout", "node", (event) => { event.target.removeClass("near"); container.style.cursor = ""; });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.style(looks()));
    addEventListener("resize", showAll);
    // the wheel scrolls the page until somebody turns to the graph
    const heedWheel = (on) => { if (matchMedia("(hover: hover)").matches) graph.userZoomingEnabled(on); };
    heedWheel(false);
    container.addEventListener("focusin", () => heedWheel(true));
    container.addEventListener("focusout", () => heedWheel(false));
    container.addEventListener("keydown", steer);
    for (const id of ["show-pruned", "show-links"]) byId(id)?.addEventListener("change", applyChoices);
    byId("zoom-in").addEventListener("click", () => zoomBy(STEP));
    byId("zoom-out").addEventListener("click", () => zoomBy(1 / STEP));
    byId("zoom-fit").addEventListener("click", showAll);
  }

  function showAll() {
    graph.resize();
    graph.fit(graph.elements().not(".hidden"), MARGIN); // ":visible" lags behind a change of class
  }

  function zoomBy(factor) {
    const middle = { x: graph.width() / 2, y: graph.height() / 2 };
    graph.zoom({ level: graph.zoom() * factor, renderedPosition: middle });
  }

  function steer(event) {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (event.key in moves) graph.panBy({ x: moves[event.key][0], y: moves[event.key][1] });
    else if (event.key === "+" || event.key === "=") zoomBy(STEP);
    else if (event.key === "-") zoomBy(1 / STEP);
    else if (event.key === "0") showAll();
    else if (event.key === "Escape") closeCard();
    else return;
    event.preventDefault();
  }

  // Both boxes bear on the links of pruned voters, so every change settles everything anew.
  function applyChoices() {
    const shown = (id) => !byId(id) || byId(id).checked;
    const [pruned, links] = [shown("show-pruned"), shown("show-links")];
    graph.elements("node.outside").toggleClass("hidden", !pruned);
    graph.elements("edge.link").toggleClass("hidden", !links);
    graph.elements("edge.faded").toggleClass("hidden", !links || !pruned);
    byId("graph-still").classList.toggle("no-pruned", !pruned);
    byId("graph-still").classList.toggle("no-links", !links);
    showAll();
  }

  // -- a voter's card ----------------------------------------------------------------------------

  function closer() {
    const close = make("button", "Close", "close");
    close.type = "button";
    close.addEventListener("click", closeCard);
    return close;
  }

  const card = byId("card");
  const invitation = card.textContent;
  let pinned = false; // by a click: then the pointer alone does not change it

  function openCard(voter, { seek = false, beside = "#voters-section", pin = true } = {}) {
    if (voter === undefined || !rows[voter]) return;
    showCard(beside, pin);
    const title = make("h3");
    title.append(make("bdi", names[voter]));
    const facts = make("dl");
    for (const cell of Array.from(rows[voter].cells).slice(1)) {
      if (cell.textContent.trim() === "–") continue;
      const value = make("dd", "", cell.className.replace("detail", ""));
      value.append(...Array.from(cell.childNodes, (node) => node.cloneNode(true)));
      facts.append(make("dt", cell.dataset.what), value);
    }
    card.replaceChildren(closer(), title, facts, ...drawConfusion(voter));
    card.dataset.voter = voter;
    for (const dot of document.querySelectorAll("#dots li")) dot.classList.toggle("chosen", Number(dot.dataset.voter) === voter);
    if (graph) choose(nodeOf(voter), seek);
    if (seek) seekCard();
  }

  function showCard(beside, pin) {
    const slot = document.querySelector(`${beside} .slot`);
    if (card.parentElement !== slot) slot.append(card);
    card.classList.add("open");
    pinned = pin;
  }

  // who came by name or link must see the card
  function seekCard() {
    card.focus({ preventScroll: true });
    if (getComputedStyle(card).position !== "fixed") card.scrollIntoView({ block: "nearest" });
  }

  // With more than two classes: the picture of all voters, shaded by what this one says.
  const DARKEST = 0.5;
  const confused = byId("voters-confused") ? JSON.parse(byId("voters-confused").textContent) : [];

  function drawConfusion(voter) {
    if (!confused[voter]) return [];
    const picture = byId("confusion-all").cloneNode(true);
    picture.removeAttribute("id");
    const shares = confused[voter].flat();
    picture.querySelectorAll(".cell").forEach((cell, k) => {
      cell.querySelector("rect").setAttribute("fill-opacity", DARKEST * Math.sqrt(shares[k]));
      const title = cell.querySelector("title");
      title.textContent = title.textContent.replace(/[^:]*$/, ` ${(100 * shares[k]).toFixed(1)}%`);
      const text = cell.querySelector("text");
      if (text) text.textContent = Math.round(100 * shares[k]);
    });
    return [make("p", "What it says (columns) of the items of each class (rows), in percent:", "soft"), picture];
  }

  function openFamily(hub) {
    const kin = familyOf(hub);
    const voters = kin.connectedNodes().filter((node) => node.data("voter") !== undefined);
    showCard("#graph-section", true);
    const list = make("ul");
    voters.forEach((node) => {
      const link = make("a");
      link.href = `#voter-${node.data("voter")}`;
      link.append(make("bdi", names[node.data("voter")]));
      const item = make("li");
      item.append(link);
      list.append(item);
    });
    card.replaceChildren(closer(), make("h3", hub.data("label")), make("p", `${voters.length} voters who repeat each other:`, "soft"), list);
    delete card.dataset.voter;
    choose(hub);
  }

  function openRest(rest) {
    showCard("#graph-section", true);
    const words = "They repeat nobody, and have no edge to another voter. The plot above and the table below list them.";
    card.replaceChildren(closer(), make("h3", rest.data("label")), make("p", words, "soft"));
    delete card.dataset.voter;
    choose(rest);
  }

  function nodeOf(voter) {
    const own = graph.getElementById(`v${voter}`);
    return own.length ? own : graph.getElementById("rest");
  }

  // the hub, arc, stems and tie of a family
  function familyOf(node) {
    return graph.elements(`.kin-${node.data("family")}`);
  }

  function closeCard() {
    pinned = false;
    delete card.dataset.voter;
    card.classList.remove("open");
    card.replaceChildren(make("p", invitation, "soft"));
    document.querySelector("#dots .chosen")?.classList.remove("chosen");
    if (graph) graph.elements().removeClass("away chosen");
  }

  function choose(node, seek) {
    graph.elements().removeClass("chosen").addClass("away");
    const hub = node.hasClass("hub") ? node : graph.nodes(".hub").filter((one) => familyOf(one).connectedNodes().has(node));
    const family = hub.length ? familyOf(hub[0]) : graph.collection();
    node.closedNeighborhood().union(family).union(family.connectedNodes()).removeClass("away");
    node.addClass("chosen").removeClass("hidden");
    if (seek && graph.zoom() < 1) {
      graph.zoom(1);
      graph.center(node);
    }
  }

  function followLinks(event) {
    const link = event.target.closest('a[href^="#voter-"]');
    if (!link) return;
    event.preventDefault();
    const beside = link.closest("#graph-section") ? "#graph-section" : "#voters-section";
    openCard(Number(link.getAttribute("href").slice("#voter-".length)), { seek: true, beside });
  }

  // the pointer shows the card of the voter below it, a click keeps it
  function startDots() {
    const dots = byId("dots");
    if (!dots) return;
    const voter = (event) => event.target.closest("li")?.dataset.voter;
    dots.addEventListener("click", (event) => {
      if (!event.target.closest("a") && voter(event)) openCard(Number(voter(event)));
    });
    if (!matchMedia("(hover: hover) and (min-width: 60.01rem)").matches) return;
    dots.addEventListener("mouseover", (event) => {
      if (!pinned && voter(event) && voter(event) !== card.dataset.voter) openCard(Number(voter(event)), { pin: false });
    });
  }

  // -- search ------------------------------------------------------------------------------------

  const MOST_MATCHES = 8;

  function findVoters(query) {
    const wanted = query.trim().toLowerCase();
    if (!wanted) return [];
    const rank = (name) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3);
    const hits = names.map((name, voter) => [rank(name.toLowerCase()), voter]).filter(([place]) => place < 3);
    // the very name first, then names that start so, then the heavier voters
    return hits.sort(([a, s], [b, t]) => a - b || s - t).map(([, voter]) => voter);
  }

  function listMatches() {
    const query = byId("query").value;
    const found = findVoters(query);
    const items = found.slice(0, MOST_MATCHES).map((voter) => {
      const button = make("button");
      button.type = "button";
      button.append(make("bdi", names[voter]));
      button.addEventListener("click", () => pick(voter));
      const item = make("li");
      item.append(button);
      return item;
    });
    if (found.length > MOST_MATCHES) items.push(make("li", `and ${found.length - MOST_MATCHES} more`, "soft"));
    if (!found.length) items.push(make("li", "No voter matches.", "soft"));
    byId("matches").replaceChildren(...items);
    byId("matches").hidden = !query.trim();
  }

  function pick(voter) {
    byId("matches").hidden = true;
    openCard(voter, { seek: true });
  }

  function startSearch() {
    const form = byId("search");
    byId("query").addEventListener("input", listMatches);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const found = findVoters(byId("query").value);
      if (found.length) pick(found[0]);
    });
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") byId("matches").hidden = true; });
    form.addEventListener("focusout", (event) => { if (!form.contains(event.relatedTarget)) byId("matches").hidden = true; });
  }

  // -- pages of long lists -----------------------------------------------------------------------

  const turns = new Map(); // list -> function that shows a page of it

  function startPages(list) {
    const size = Number((matchMedia("(max-width: 40rem)").matches && list.dataset.small) || list.dataset.page);
    const nav = make("nav", "", "pager");
    const [back, said, on] = [make("button", "Previous"), make("span", "", "soft"), make("button", "Next")];
    let page = 0;
    nav.setAttribute("aria-label", "Pages");
    said.setAttribute("role", "status");
    const turn = (to) => {
      const kept = Array.from(list.children).filter((row) => !row.hidden);
      const last = Math.max(0, Math.ceil(kept.length / size) - 1);
      page = Math.min(Math.max(to, 0), last);
      kept.forEach((row, k) => row.classList.toggle("off-page", Math.floor(k / size) !== page));
      said.textContent = `${page * size + 1} to ${Math.min((page + 1) * size, kept.length)} of ${kept.length}`;
      [back.disabled, on.disabled] = [page === 0, page === last];
      nav.hidden = last === 0;
    };
    for (const [button, step] of [[back, -1], [on, 1]]) {
      button.type = "button";
      button.addEventListener("click", () => {
        turn(page + step);
        if (nav.getBoundingClientRect().top < 0 || nav.getBoundingClientRect().bottom > innerHeight) nav.scrollIntoView({ block: "end" });
      });
    }
    nav.append(back, said, on);
    (list.closest("table") || list).after(nav);
    turns.set(list, turn);
    turn(0);
  }

  // -- the table ---------------------------------------------------------------------------------

  function sortBy(button, order) {
    const column = Number(button.dataset.column);
    const numeric = button.dataset.kind === "number";
    const value = (row) => {
      const text = row.cells[column].dataset.value || row.cells[column].textContent.trim();
      if (!numeric) return text === "–" ? "" : text;
      return parseFloat(text.replace("−", "-").replaceAll(",", ""));
    };
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      const unknown = (z) => z === "" || Number.isNaN(z);
      if (unknown(x) || unknown(y)) return unknown(x) - unknown(y); // they come last, either way
      const difference = numeric ? x - y : x.localeCompare(y, undefined, { numeric: true });
      return order === "ascending" ? difference : -difference;
    };
    table.tBodies[0].append(...[...rows].sort(compare));
    turns.get(table.tBodies[0])(0);
    for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
    button.parentElement.setAttribute("aria-sort", order);
  }

  function startSorting() {
    const buttons = Array.from(table.tHead.querySelectorAll("button"));
    const usual = (button) => (button.dataset.kind === "number" ? "descending" : "ascending");
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const present = button.parentElement.getAttribute("aria-sort");
        const turned = { ascending: "descending", descending: "ascending" }[present];
        sortBy(button, turned || usual(button));
        byId("sort").value = button.dataset.column;
      });
    }
    byId("sort").addEventListener("change", (event) => sortBy(buttons[event.target.value], usual(buttons[event.target.value])));
  }

  function filterRows() {
    const wanted = byId("filter").value.trim().toLowerCase();
    const verdict = byId("verdict").value;
    let shown = 0;
    for (const row of rows) {
      const fits = row.textContent.toLowerCase().includes(wanted) && (!verdict || row.cells[1].textContent.trim() === verdict);
      row.hidden = !fits;
      shown += fits;
    }
    turns.get(table.tBodies[0])(0);
    byId("shown").textContent = shown === rows.length ? `${shown} voters` : `${shown} of ${rows.length} voters`;
  }

  // -- saving ------------------------------------------------------------------------------------

  async function saveFile(file) {
    const letters = atob(file.textContent);
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const content = new Blob([await new Response(plain).arrayBuffer()], { type: "text/csv;charset=utf-8" });
    const link = make("a");
    link.href = URL.createObjectURL(content);
    link.download = file.dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  function startSaving() {
    const files = Array.from(document.querySelectorAll("script.file"));
    for (const button of document.querySelectorAll("button[data-file]")) {
      const file = files[Number(button.dataset.file)];
      button.addEventListener("click", () => {
        saveFile(file).then(
          () => { byId("status").textContent = `${file.dataset.name} saved.`; },
          () => { byId("status").textContent = "This browser is too old to save files from this page."; },
        );
      });
    }
  }

  document.documentElement.classList.add("scripted");
  const folded = byId("graph-section"); // the graph needs a place that is shown
  folded?.addEventListener("toggle", () => { if (folded.open && !graph) startGraph(); });
  let closed = []; // what paper shows open
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open])")]; for (const one of closed) one.open = true; });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
  startDots();
  document.querySelectorAll(".paged").forEach(startPages);
  document.addEventListener("click", followLinks);
  startSearch();
  startSorting();
  byId("filter").addEventListener("input", filterRows);
  byId("verdict").addEventListener("change", filterRows);
  startSaving();
})();
