/** The one style sheet. Colours are variables with a value for each scheme; charts use them too. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --raised: #ffffff; --ink: #1c1f24; --muted: #5b626d; --line: #e3dfd6;
  --accent: #175e8c; --seen: #175e8c; --unseen: #b4540a; --good: #1b6b47; --bad: #a52a2a; --open: #6b5a16;
  --good-back: #e4f2ea; --bad-back: #fae7e5; --open-back: #f4eed8;
  --serif: Charter, "Iowan Old Style", "Source Serif 4", "Noto Serif", Georgia, "Noto Serif CJK SC", serif;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171b; --raised: #1c1f25; --ink: #e9e6df; --muted: #a0a7b2; --line: #31353d;
    --accent: #7fbfe8; --seen: #7fbfe8; --unseen: #f0a35e; --good: #86d3ad; --bad: #f0a09a; --open: #dcc673;
    --good-back: #1b3328; --bad-back: #3b2323; --open-back: #352f1a;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 var(--sans); overflow-wrap: break-word; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 32px 96px; }
h1, h2, h3 { font-family: var(--serif); font-weight: 600; line-height: 1.2; text-wrap: balance; }
h1 { font-size: clamp(1.7rem, 1.1rem + 2.2vw, 2.6rem); margin: 0 0 24px; letter-spacing: -0.01em; }
h2 { font-size: 1.5rem; margin: 0 0 8px; }
h3 { font-size: 1.15rem; margin: 32px 0 12px; }
h5 { margin: 0 0 4px; font-size: 0.8rem; font-weight: 600; color: var(--muted); }
p { margin: 0 0 12px; }
a { color: var(--accent); text-underline-offset: 0.18em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 16px; top: 8px; background: var(--raised); padding: 6px 12px; }
.eyebrow { color: var(--muted); font-size: 0.875rem; margin-bottom: 12px; }
.eyebrow b { font-weight: 600; color: var(--ink); }
.verdict { margin: 0; font: 1.0625rem/1.55 var(--serif); }
.verdict > div { display: grid; grid-template-columns: 12rem minmax(0, 68ch); gap: 0 20px; padding: 7px 0; }
.verdict dt { font: 600 0.8125rem/1.35 var(--sans); color: var(--muted); padding-top: 0.3em; }
.verdict dd { margin: 0; }
.lead { max-width: 72ch; color: var(--muted); margin-bottom: 20px; }
.note { max-width: 72ch; color: var(--muted); font-size: 0.9rem; }
main > section { margin-top: 64px; padding-top: 24px; border-top: 1px solid var(--line); }
nav { display: flex; flex-wrap: wrap; gap: 4px 20px; margin-top: 28px; font-size: 0.9rem; }
nav a { padding: 4px 0; }

.num { font-variant-numeric: tabular-nums lining-nums; white-space: nowrap; }
.ci { color: var(--muted); font-size: 0.9em; }
.verdict .ci { color: inherit; font-size: 1em; }
.cov, .why, .unit { color: var(--muted); font-size: 0.8125rem; font-weight: 400; }
.cov { font-variant-numeric: tabular-nums; white-space: nowrap; }
.cov.partial { color: var(--open); }
.minus { color: var(--muted); padding: 0 0.15em; }
.reading { display: inline-block; font-size: 0.8125rem; line-height: 1.35; padding: 2px 9px; border-radius: 99px; }
.reading.good { color: var(--good); background: var(--good-back); }
.reading.good::before { content: "✓ "; }
.reading.bad { color: var(--bad); background: var(--bad-back); }
.reading.bad::before { content: "✕ "; }
.reading.open { color: var(--open); background: var(--open-back); }

.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 1px; margin: 0 0 28px; background: var(--line); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.tile { background: var(--raised); padding: 16px 18px; display: flex; flex-direction: column; }
.tile h2 { font: 600 0.8125rem/1.35 var(--sans); color: var(--muted); margin: 0 0 8px; }
.tile p { margin: 0 0 6px; }
.tile p:last-child { margin: auto 0 0; padding-top: 4px; }
.tile .big { font-size: 1.5rem; line-height: 1.2; }
.tile .big .ci { display: block; font-size: 0.9375rem; margin-top: 2px; }
.tile .small { font-size: 0.8125rem; color: var(--muted); }

table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; margin: 0 0 28px; }
caption { text-align: left; font: 600 1.05rem/1.3 var(--serif); padding: 0 0 8px; }
th, td { text-align: left; vertical-align: top; padding: 9px 16px 9px 0; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-size: 0.8125rem; font-weight: 600; color: var(--muted); vertical-align: bottom; border-bottom-color: var(--muted); }
tbody th { font-weight: 500; }
th.n, td.n { text-align: right; }
td.n .cov, td.n .why { display: block; }
td .reading { white-space: nowrap; }
td.quiet, td.quiet .num { color: var(--muted); }
td.n.quiet .why { display: inline; }
tr.scale th { padding-left: 1.2em; color: var(--muted); font-weight: 400; }
tr.rows th { padding-top: 22px; font-size: 0.8125rem; font-weight: 600; color: var(--muted); border-bottom-color: var(--muted); }
.barcol { width: 176px; }
code { font: 0.875em ui-monospace, "SF Mono", "Cascadia Mono", Menlo, monospace; overflow-wrap: anywhere; }
td.value { overflow-wrap: anywhere; }
.facts-columns { columns: 2; column-gap: 40px; margin-top: 20px; }
table.provenance { table-layout: fixed; font-size: 0.875rem; break-inside: avoid; }
table.provenance th, table.provenance td { padding-top: 5px; padding-bottom: 5px; }
table.provenance th:first-child { width: 46%; overflow-wrap: anywhere; }
table.provenance th.n { width: 4.5rem; }
table.provenance code { overflow-wrap: anywhere; }
.origin { font-size: 0.75rem; line-height: 1.3; padding: 1px 7px; border: 1px solid var(--line); border-radius: 99px; color: var(--muted); background: var(--raised); white-space: nowrap; }
.where > details > summary { color: var(--accent); }
.where ul { margin: 6px 0 0; padding: 0; list-style: none; font-size: 0.875rem; }
.where li { margin-bottom: 6px; }
.where a { overflow-wrap: anywhere; }
.where li > b { display: block; }
table.failures td:nth-child(3) { max-width: 26em; overflow-wrap: anywhere; }
table.failures td:first-child { white-space: nowrap; }
table.failures td.where { width: 36%; }
.odd { font: 0.7em/1 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, monospace; color: var(--muted); border: 1px solid var(--line); border-radius: 3px; padding: 0 2px; margin: 0 1px; vertical-align: 0.1em; }
.odd.none { font: inherit; border: 0; padding: 0; margin: 0; }
h2 + table { margin-top: 20px; }
.scroller { overflow-x: auto; max-width: 100%; }
.scroller th, .scroller td { white-space: nowrap; }
.scroller table { width: auto; min-width: 100%; }

svg { display: block; max-width: 100%; height: auto; overflow: visible; }
svg.narrow { display: none; }
svg.interval .zero { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 2 2; }
svg.interval .bar { stroke: var(--accent); stroke-width: 3; stroke-linecap: round; }
svg.interval .dot { fill: var(--accent); }
figure { margin: 8px 0 20px; }
figcaption { color: var(--muted); font-size: 0.875rem; margin-top: 8px; max-width: 72ch; }
.key { display: inline-block; width: 18px; height: 0; border-top: 2px solid; vertical-align: middle; margin: 0 4px 0 8px; }
.key.train { border-color: var(--muted); margin-left: 0; }
.key.dev { border-color: var(--accent); }

summary { cursor: pointer; }
.more { margin: 0 0 20px; }
.more > summary { color: var(--accent); font-size: 0.9375rem; padding: 4px 0; margin-bottom: 8px; }
.group { border: 1px solid var(--line); border-radius: 10px; background: var(--raised); margin: 0 0 16px; overflow: hidden; }
.role { margin: 0 0 6px; }
.role > summary { padding: 6px 0; }
.dialogue + .dialogue { border-top: 1px solid var(--line); }
.dialogue > summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 12px; padding: 11px 18px; list-style: none; }
.dialogue > summary::-webkit-details-marker { display: none; }
.dialogue > summary::before { content: "▸"; color: var(--muted); width: 0.8em; }
.dialogue[open] > summary::before { content: "▾"; }
.dialogue[open] > summary { border-bottom: 1px solid var(--line); }
.tag { font-size: 0.8125rem; color: var(--muted); min-width: 6.6em; }
.tag.worst { color: var(--bad); } .tag.best { color: var(--good); } .tag.failed { color: var(--bad); }
.who { font-weight: 600; }
.what { color: var(--muted); font-size: 0.875rem; overflow-wrap: anywhere; }
.change { margin-left: auto; }
.card { margin: 14px 18px 0; padding-left: 14px; border-left: 3px solid var(--line); color: var(--muted); font-size: 0.9rem; max-width: 80ch; }
.turn { padding: 16px 18px 18px; display: grid; grid-template-columns: 1fr 1fr; gap: 16px 28px; }
.turn + .turn { border-top: 1px dashed var(--line); }
.said { min-width: 0; }
.words { margin: 0 0 8px; max-width: 62ch; white-space: pre-line; overflow-wrap: anywhere; }
.said .note, .answer .note { font-size: 0.8125rem; margin: -4px 0 8px; }
.words.none, .silent { color: var(--muted); font-style: italic; font-size: 0.9rem; }
.clips { display: flex; flex-direction: column; gap: 6px; }
.labelled { display: grid; grid-template-columns: 6.5em minmax(0, 1fr); align-items: center; font-size: 0.8125rem; color: var(--muted); }
audio { display: block; width: 100%; max-width: 340px; height: 36px; }
.answers { grid-column: 1 / -1; display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 12px; }
.answer { min-width: 0; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; display: flex; flex-direction: column; }
.answer h5 { color: var(--ink); font-size: 0.875rem; }
.answer.failed { border-color: var(--bad); }
.failure { color: var(--bad); font-size: 0.875rem; margin-bottom: 6px; }
.answer audio { margin-top: auto; }
.facts { display: grid; grid-template-columns: 1fr; gap: 2px; margin: 10px 0 0; font-size: 0.8125rem; }
.facts div { display: flex; justify-content: space-between; gap: 8px; }
.measures { margin-top: 4px; font-size: 0.8125rem; }
.measures > summary { color: var(--accent); }
.measures .facts { margin-top: 4px; }
.facts dt { color: var(--muted); }
.facts dd { margin: 0; text-align: right; }

@media (max-width: 700px) {
  main { padding: 24px 16px 64px; }
  main > section { margin-top: 44px; }
  svg.wide { display: none; }
  svg.narrow { display: block; margin: 0 auto; }
  .verdict > div { grid-template-columns: 1fr; padding: 6px 0; }
  .facts-columns { columns: 1; }
  .turn { grid-template-columns: 1fr; padding: 14px; }
  .dialogue > summary { padding: 11px 14px; }
  .card { margin: 12px 14px 0; }
  .change { margin-left: 0; }
  .tag { min-width: 0; }
  table.stack thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table.stack, table.stack tbody, table.stack tr, table.stack th, table.stack td, table.stack caption { display: block; }
  table.stack tr { padding: 10px 0; border-bottom: 1px solid var(--line); }
  table.stack th, table.stack td { border: 0; padding: 2px 0; }
  table.stack tbody th { font-weight: 600; padding-bottom: 4px; }
  table.stack td[data-label] { display: grid; grid-template-columns: minmax(7.5em, 2fr) 3fr; gap: 0 12px; text-align: right; }
  table.stack td[data-label]::before { content: attr(data-label); color: var(--muted); font-size: 0.8125rem; text-align: left; grid-row: 1 / span 3; }
  table.stack td[data-label] > * { grid-column: 2; justify-self: end; }
  table.stack .barcol, table.failures td.where { width: auto; }
  table.stack td:empty { display: none; }
  svg.interval { margin: 4px 0 4px auto; }
}
@media print {
  :root { --paper: #fff; --raised: #fff; --ink: #000; --muted: #444; --line: #bbb; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  nav, .skip, audio, a.clip { display: none; }
  main > section, .answer, tr, figure { break-inside: avoid; }
  main > section { break-inside: auto; margin-top: 28px; }
}
`;
