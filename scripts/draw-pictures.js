// Writes the drawings of docs/images, each for a light and a dark page, 360 px wide so that a telephone shows their text as it is.
// `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url))
const WIDTH = 360
const THEMES = {
  light: {
    paper: '#ffffff',
    ink: '#1f2328',
    soft: '#59636e',
    line: '#8c959f',
    plain: '#f6f8fa',
    ours: '#e8ecfd',
    given: '#e3f3f1',
    waits: '#fdf3d8',
  },
  dark: {
    paper: '#1b1b1f',
    ink: '#f0f0f3',
    soft: '#b4b4bd',
    line: '#85858f',
    plain: '#2a2a31',
    ours: '#2c3560',
    given: '#1f4540',
    waits: '#4d3c12',
  },
}

const PICTURES = {
  'from-file-to-answer': {
    height: 436,
    title:
      'A file and modules become an agent. A request becomes a run of it, which leaves a response, a trace and a tape.',
    parts: [
      box(16, 12, 152, 40, ['agents/support.yml'], 'plain', 'mono'),
      box(192, 12, 152, 40, ['modules'], 'plain'),
      arrow([92, 52], [92, 88]),
      arrow([268, 52], [268, 88]),
      note(180, 74, 'wiring'),
      frame(16, 88, 328, 138, 'agent'),
      box(30, 134, 132, 52, ['orchestrator', 'entry point'], 'ours'),
      box(216, 110, 114, 48, ['llm', 'provides LLM'], 'ours'),
      box(216, 166, 114, 48, ['tools', 'ToolProvider'], 'ours'),
      arrow([162, 152], [214, 136]),
      arrow([162, 168], [214, 188]),
      arrow([226, 226], [226, 272]),
      note(234, 254, 'an exchange', 'start'),
      box(16, 272, 84, 48, ['client'], 'plain'),
      box(152, 272, 192, 48, ['run', 'a question, an answer'], 'ours'),
      arrow([100, 286], [150, 286]),
      arrow([152, 308], [102, 308]),
      note(126, 264, 'adapter'),
      arrow([190, 320], [90, 372]),
      arrow([226, 320], [210, 372]),
      arrow([262, 320], [302, 372]),
      box(16, 372, 132, 52, ['response', 'in a conversation'], 'given'),
      box(164, 372, 84, 52, ['trace', 'every call'], 'given'),
      box(264, 372, 80, 52, ['tape', 'to replay'], 'given'),
    ],
  },
  scopes: {
    height: 286,
    title:
      'A module with the scope agent lives from the registration of a version until its last run has ended. Each run has its own modules of the scope instance.',
    parts: [
      label(16, 24, 'scope: agent'),
      box(16, 34, 206, 38, ['llm, version 1'], 'given'),
      box(168, 80, 176, 38, ['llm, version 2'], 'given'),
      label(16, 142, 'scope: instance, one for each run'),
      box(28, 152, 92, 38, ['run 1'], 'ours'),
      box(92, 198, 130, 38, ['run 2'], 'ours'),
      box(238, 152, 92, 38, ['run 3'], 'ours'),
      dashes([168, 118], [168, 130]),
      dashes([168, 192], [168, 198]),
      dashes([168, 236], [168, 252]),
      note(168, 266, 'the file changes', 'middle'),
      arrow([228, 262], [344, 262]),
      note(344, 280, 'time', 'end'),
    ],
  },
  approval: {
    height: 424,
    title:
      'A call that needs an approval ends its run as waiting. A decision begins the next run, which executes the call or tells the model why it was not executed.',
    parts: [
      box(60, 12, 240, 40, ['the model calls a tool'], 'ours'),
      arrow([180, 52], [180, 88]),
      note(188, 75, 'it needs an approval', 'start'),
      box(60, 88, 240, 56, ['the run ends: waiting', 'stored; no process is kept'], 'waits'),
      arrow([120, 144], [96, 218]),
      arrow([240, 144], [264, 218]),
      note(98, 172, 'approve', 'end'),
      note(92, 190, 'edit', 'end'),
      note(262, 166, 'reject', 'start'),
      note(266, 184, 'time is up', 'start'),
      note(272, 202, 'superseded', 'start'),
      box(16, 218, 156, 56, ['the next run', 'executes the call once'], 'ours'),
      box(188, 218, 156, 56, ['the next run', 'executes nothing'], 'ours'),
      arrow([94, 274], [140, 322]),
      arrow([266, 274], [220, 322]),
      note(96, 306, 'its result', 'end'),
      note(264, 306, 'the reason', 'start'),
      box(60, 322, 240, 40, ['the model reads it'], 'ours'),
      arrow([180, 362], [180, 388]),
      note(180, 408, 'an answer, or the next call'),
    ],
  },
  turns: {
    height: 346,
    title:
      'Each response adds a turn after the one that it continues, so several may continue the same. A conversation points to its latest turn.',
    parts: [
      box(16, 16, 150, 52, ['turn 1', 'resp_a'], 'ours'),
      arrow([91, 68], [91, 108]),
      box(16, 108, 150, 52, ['turn 2', 'resp_b'], 'ours'),
      arrow([91, 160], [91, 200]),
      box(16, 200, 150, 52, ['turn 3', 'resp_c'], 'ours'),
      arrow([140, 160], [230, 200]),
      box(194, 200, 150, 52, ['turn 3', 'resp_d: a branch'], 'ours'),
      box(16, 292, 150, 40, ['conversation'], 'given'),
      arrow([91, 292], [91, 252]),
      note(178, 317, 'points to its latest turn', 'start'),
      note(178, 46, 'previous_response_id', 'start'),
      note(178, 62, 'names the turn before', 'start'),
    ],
  },
  replicas: {
    height: 392,
    title:
      'Clients reach several servers through a proxy. The servers and workers have the same agents and share one store.',
    parts: [
      box(110, 12, 140, 40, ['clients'], 'plain'),
      arrow([180, 52], [180, 82]),
      box(110, 82, 140, 40, ['proxy'], 'plain'),
      arrow([150, 122], [86, 162]),
      arrow([210, 122], [180, 162]),
      note(222, 144, 'any of them', 'start'),
      box(16, 162, 102, 60, ['server 1', 'same agents', 'own traces'], 'ours'),
      box(129, 162, 102, 60, ['server 2', 'same agents', 'own traces'], 'ours'),
      box(242, 162, 102, 60, ['worker', 'same agents', 'no clients'], 'ours'),
      arrow([67, 222], [120, 272], true),
      arrow([180, 222], [180, 272], true),
      arrow([293, 222], [240, 272], true),
      box(
        40,
        272,
        280,
        108,
        [
          'store: PostgreSQL or Redis',
          'responses, conversations',
          'approvals, queue of background runs',
          'memories, records of modules',
        ],
        'given',
      ),
    ],
  },
}

function box(x, y, width, height, [first, ...rest], kind, font = 'name') {
  const lines = 1 + rest.length
  const top = y + height / 2 - (lines - 1) * 8.5 + 4.5
  const texts = [first, ...rest].map(
    (text, index) =>
      `<text class="${index === 0 ? font : 'small'}" x="${x + width / 2}" y="${top + index * 17}">${text}</text>`,
  )
  return `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="7"/>${texts.join('')}`
}

function frame(x, y, width, height, name) {
  return `<rect class="frame" x="${x}" y="${y}" width="${width}" height="${height}" rx="9"/><text class="name start" x="${x + 14}" y="${y + 26}">${name}</text>`
}

function arrow([fromX, fromY], [toX, toY], isBoth = false) {
  const start = isBoth ? ' marker-start="url(#head)"' : ''
  return `<path class="line" d="M${fromX} ${fromY}L${toX} ${toY}" marker-end="url(#head)"${start}/>`
}

function dashes([fromX, fromY], [toX, toY]) {
  return `<path class="line" stroke-dasharray="4 4" d="M${fromX} ${fromY}L${toX} ${toY}"/>`
}

function note(x, y, text, anchor = 'middle') {
  return `<text class="small ${anchor}" x="${x}" y="${y}">${text}</text>`
}

function label(x, y, text) {
  return `<text class="name start" x="${x}" y="${y}">${text}</text>`
}

function draw({ height, title, parts }, { paper, ink, soft, line, ...fills }) {
  const kinds = Object.entries(fills).map(([kind, fill]) => `.${kind}{fill:${fill};stroke:${line}}`)
  const style = [
    `text{font:13px system-ui,sans-serif;fill:${ink};text-anchor:middle}`,
    `.name{font-weight:600}.mono{font:12px ui-monospace,monospace}.small{font-size:12px;fill:${soft}}`,
    `.start{text-anchor:start}.end{text-anchor:end}.line{stroke:${line};fill:none}.frame{fill:none;stroke:${line}}`,
    ...kinds,
  ]
  const head = `<marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="${line}"/></marker>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">`,
    `<style>${style.join('')}</style>`,
    `<defs>${head}</defs>`,
    `<rect width="${WIDTH}" height="${height}" fill="${paper}"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

for (const [name, picture] of Object.entries(PICTURES)) {
  for (const [theme, colours] of Object.entries(THEMES)) {
    const file = `${IMAGES}${name}-${theme}.svg`
    const text = draw(picture, colours)
    if (!process.argv.includes('--check')) writeFileSync(file, text)
    else if (readFileSync(file, 'utf8') !== text) {
      console.error(`docs/images/${name}-${theme}.svg is not what scripts/draw-pictures.js draws: run it`)
      process.exitCode = 1
    }
  }
}
