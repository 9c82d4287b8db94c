"use strict";
const by = (id) => document.getElementById(id);
const state = { points: [], added: new Map(), gone: new Map(), outputs: [], timer: 0 };
const MOST = 300;

function short(number) {
  if (typeof number !== "number" || !isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1000) return Math.round(number).toLocaleString("en-GB");
  return size !== 0 && size < 0.001 ? number.toExponential(2) : String(Number(number.toPrecision(4)));
}
function element(name, text, attributes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  return made;
}
function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
function headers(more) {
  const token = sessionStorage.getItem("tamis-token");
  return Object.assign(token ? { Authorization: "Bearer " + token } : {}, more || {});
}
async function problem(response) {
  try { return (await response.json()).error.message; } catch { return "the server answered " + response.status; }
}

// One line a series, from left to right in the order of the events.
function chart(id, what, series) {
  const svg = by(id), values = series.flat().filter(isFinite);
  svg.replaceChildren();
  if (!values.length) return;
  const low = Math.min(...values), high = Math.max(...values), span = high - low || Math.abs(high) || 1;
  const x = (at, count) => 52 + (count > 1 ? at / (count - 1) : 1) * 338;
  const y = (value) => 132 - ((value - (high > low ? low : low - span / 2)) / span) * 112;
  for (const value of high > low ? [low, high] : [low]) {
    svg.append(shape("line", { x1: 52, x2: 390, y1: y(value), y2: y(value), class: "grid" }));
    svg.append(shape("text", { x: 46, y: y(value) + 4, "text-anchor": "end", class: "tick" }, short(value)));
  }
  series.forEach((line, number) => {
    const points = line.map((value, at) => [x(at, line.length), y(value)]).filter((point) => isFinite(point[1]));
    const text = points.map((point) => point.map((one) => one.toFixed(1)).join(",")).join(" ");
    const colour = number ? "var(--minus)" : "var(--plus)";
    svg.append(shape("polyline", { points: text, fill: "none", stroke: colour, "stroke-width": 2 }));
    const last = points[points.length - 1];
    if (last) svg.append(shape("circle", { cx: last[0], cy: last[1], r: 3, fill: colour }));
  });
  const last = series.map((line) => short(line[line.length - 1])).join(" and ");
  svg.setAttribute("aria-label", what + ": now " + last + ", between " + short(low) + " and " + short(high));
}

function show(event) {
  state.points.push(event);
  if (state.points.length > MOST) state.points.shift();
  by("rows").textContent = short(event.rows);
  by("speed").textContent = short(event.rows_per_second);
  by("loss").textContent = short(event.loss);
  by("size").textContent = short(event.nonzeros);
  const drift = event.loss > 0 ? 100 * (event.recent_loss / event.loss - 1) : NaN;
  by("drift").textContent = isFinite(drift) ? (drift >= 0 ? "+" : "−") + Math.abs(drift).toFixed(0) + " %" : "–";
  const line = (name) => state.points.map((point) => point[name]);
  chart("loss-chart", "Loss", [line("loss"), line("recent_loss")]);
  chart("size-chart", "Features with a weight", [line("nonzeros")]);
  chart("speed-chart", "Rows a second", [line("rows_per_second")]);
}
function changed(event) {
  for (const name of event.entered) { state.added.set(name, event.rows); state.gone.delete(name); }
  for (const name of event.left) { state.gone.set(name, event.rows); state.added.delete(name); }
  const names = (map) => [...map.keys()].slice(-8).join(", ");
  const parts = [];
  if (state.added.size) parts.push(state.added.size + " entered: " + names(state.added));
  if (state.gone.size) parts.push(state.gone.size + " left: " + names(state.gone));
  if (parts.length) by("changes").textContent = parts.join("; ") + ".";
}

async function features() {
  const response = await fetch("v1/features?top=100", { headers: headers() });
  if (!response.ok) { by("lead").textContent = await problem(response); return; }
  const model = await response.json(), rows = by("feature-rows");
  rows.replaceChildren();
  const all = model.outputs.flatMap((output) => output.features.map((one) => Object.assign({ class: output.class }, one)));
  const most = Math.max(...all.map((one) => Math.abs(one.effect)), 1e-300);
  for (const one of all) {
    const row = element("tr"), name = element("td", undefined, { class: "t" }), weight = element("td", short(one.weight), { class: "n" });
    name.append(element("bdi", one.class === undefined ? one.name : one.name + " (" + one.class + ")"));
    const bar = shape("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    bar.append(shape("rect", { width: 100 * Math.abs(one.effect) / most, height: 10, class: one.effect < 0 ? "minus" : "plus" }));
    weight.append(bar);
    row.append(name, weight, element("td", one.frequency === undefined ? "–" : short(one.frequency), { class: "n" }));
    row.append(element("td", state.added.has(one.name) ? "at row " + short(state.added.get(one.name)) : ""));
    rows.append(row);
  }
  const more = model.nonzeros > all.length ? " The first " + all.length + " are shown." : "";
  by("feature-note").textContent = model.nonzeros + " features have a weight." + more;
  by("lead").textContent = (model.learns ? "The model learns while it is served: " : "The model is served as it is: ") + model.method + ", " + short(model.rows) + " rows, " + model.nonzeros + " features.";
  if (!by("row").value) {
    by("kind").value = "application/json";
    const some = all.filter((one) => !one.name.includes("=")).slice(0, 3).map((one) => [one.name, 1]);
    by("row").value = JSON.stringify(model.is_table ? Object.fromEntries(some) : { x: Object.fromEntries(some) });
  }
}
function featuresSoon() {
  if (!state.timer) state.timer = setTimeout(() => { state.timer = 0; features().catch(() => {}); }, 500);
}

// A stream by fetch: it can carry a token, which an EventSource cannot.
async function follow() {
  const response = await fetch("v1/events", { headers: headers() });
  if (!response.ok) throw new Error(await problem(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  state.points = [];
  for (let rest = "", old = true; ; ) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the server ended the connection");
    rest += value;
    const parts = rest.split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").find((line) => line.startsWith("data:"));
      if (!data) continue;
      const event = JSON.parse(data.slice(5));
      show(event);
      if (!old) changed(event);
    }
    old = false;
    featuresSoon();
  }
}
async function run() {
  for (;;) {
    try { await follow(); } catch (error) { by("lead").textContent = "Not connected: " + error.message + "."; }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

by("try-form").addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  const answer = by("answer");
  answer.replaceChildren();
  try {
    const type = { "Content-Type": by("kind").value };
    const response = await fetch("v1/score?explain=1&missing_columns=zero", { method: "POST", headers: headers(type), body: by("row").value + "\n" });
    if (!response.ok) { answer.append(element("p", await problem(response))); return; }
    const line = JSON.parse((await response.text()).split("\n")[0]);
    const sure = line.probabilities ? ", with probability " + short(line.probabilities[String(line.prediction)]) : "";
    answer.append(element("p", "Prediction: " + line.prediction + sure + ". Features without a weight: " + line.unknown_features + "."));
    const table = element("table"), head = element("tr");
    table.append(element("caption", "What each feature contributes to the margin"));
    for (const name of ["feature", "value", "contribution"]) head.append(element("th", name, { scope: "col" }));
    table.append(head);
    const text = (part) => (typeof part === "number" ? short(part) : Object.entries(part).map(([name, value]) => name + ": " + short(value)).join(", "));
    const rows = [["intercept", "", line.explanation.intercept]].concat(line.explanation.contributions.map((one) => [one.feature, short(one.value), one.contribution]));
    for (const [name, value, part] of rows) {
      const row = element("tr");
      row.append(element("td", name, { class: "t" }), element("td", value, { class: "n" }), element("td", text(part), { class: "n" }));
      table.append(row);
    }
    answer.append(table);
  } catch (error) { answer.append(element("p", error.message)); }
});
by("token-form").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  sessionStorage.setItem("tamis-token", by("token").value);
  by("token").value = "";
  features().catch(() => {});
});
run();
