/** The reference page's one style sheet, sent inside the page: it needs nothing from anywhere else. */
export const style = `
:root { --ink: #1b2330; --soft: #5b6675; --line: #dde2ea; --ground: #ffffff; --tint: #f5f7fa; --link: #0b57b4;
  --get: #0a6b4b; --post: #8a4b00; --put: #5a3ea6; --delete: #a3262c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa5b4; --line: #323b48; --ground: #12171e;
  --tint: #1a212b; --link: #7db4ff; --get: #54c99b; --post: #f0b35f; --put: #b39ddb; --delete: #ff8f8f; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--ground); font: 15px/1.55 system-ui, sans-serif; display: flex; }
nav { position: sticky; top: 0; height: 100vh; width: 19rem; flex: none; overflow-y: auto; padding: 1.25rem 1rem 3rem;
  border-right: 1px solid var(--line); background: var(--tint); font-size: 13px; }
nav h2 { font-size: 12px; margin: 1.1rem 0 .25rem; color: var(--soft); text-transform: uppercase; letter-spacing: .05em; border: 0;
  padding: 0; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { margin: .15rem 0; overflow-wrap: anywhere; }
nav ul ul { padding-left: .6rem; }
nav a { color: var(--ink); }
main { flex: 1; min-width: 0; max-width: 72rem; padding: 1.5rem 2.5rem 6rem; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
h1 { font-size: 1.9rem; margin: 0 0 .5rem; }
h2 { font-size: 1.4rem; margin: 3rem 0 .75rem; padding-top: 1rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2.2rem 0 .4rem; }
h4 { font-size: .8rem; margin: 1rem 0 .3rem; color: var(--soft); text-transform: uppercase; letter-spacing: .05em; }
p { margin: .4rem 0; max-width: 52rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12.5px; }
code { background: var(--tint); padding: .08em .3em; border-radius: 3px; overflow-wrap: anywhere; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; overflow-x: auto;
  max-width: 100%; }
pre code { background: none; padding: 0; overflow-wrap: normal; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; font-size: 12px; }
td:first-child { white-space: nowrap; }
.method { display: inline-block; min-width: 3.6em; font-weight: 700; font-size: 12px; letter-spacing: .03em; }
.GET { color: var(--get); } .POST { color: var(--post); } .PUT { color: var(--put); } .DELETE { color: var(--delete); }
.path { font-size: 14px; background: none; padding: 0; font-weight: 600; }
.routes { padding-left: 0; list-style: none; }
.routes li { margin: .25rem 0; overflow-wrap: anywhere; }
h1, h2, h3, p, li { overflow-wrap: anywhere; }
.access { color: var(--soft); font-size: 13px; }
.optional { color: var(--soft); font-size: 12px; }
.note { color: var(--soft); font-size: 13.5px; }
@media (max-width: 60rem) { body { display: block; } nav { position: static; width: auto; height: auto; max-height: 40vh; }
  main { padding: 1rem 1rem 4rem; } td:first-child { white-space: normal; } table { min-width: 30rem; } }
@media print { nav { display: none; } main { max-width: none; padding: 0; } }
`
