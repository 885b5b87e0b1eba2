import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const CODE = ['src', 'modules', 'testing', 'packages', 'ui/src', 'scripts']
const ALL = [...CODE, 'test', 'bench', 'docs', 'templates', 'examples', 'README.md', 'CONTRIBUTING.md']

/** Rules of our prose that a pattern can check: their paths, and the advice for violations. */
const RULES = [
  {
    name: 'doc comment begins with a question word',
    paths: CODE,
    pattern: /\/\*\*[\s*]*(What|Whether|Where|How|Who)\b/g,
    advice: 'Begin it with a noun or a verb: "Summary of a finished run."',
  },
  {
    name: 'passive without an actor',
    paths: CODE,
    pattern:
      /(\/\*\*|\/\/|^ *\*).*?\b(is|are|was|were|be) (told (?!apart)|spoken (of|to)|looked at|asked (for|by|again)|made anew)/gm,
    advice:
      'Say who does it, or use a noun: "Name of the agent in the request", not "Name that the agent was asked by".',
  },
  {
    name: 'test title with a passive without an actor',
    paths: ['test'],
    pattern: /\b(it|describe)\((['"`]).*?\b(is|are|was|were) (told|asked|spoken|looked at)\b/g,
    advice: 'Say what happens: "repeats the message", not "replies with what it is told".',
  },
  {
    name: 'phrase translated word by word',
    paths: ALL,
    pattern:
      /\b(belongs? into|made anew|begun anew|loaded anew|is there already|takes? over (the|a) module|films?\b(?! strip)|came to be)\b/g,
    advice: 'Use the idiomatic phrase: keep keys in .env, reload, recreate, already exists, video.',
  },
]

const problems = RULES.flatMap(findProblems)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}

/** @param {(typeof RULES)[number]} rule */
function findProblems({ name, paths, pattern, advice }) {
  const found = paths.flatMap(listTexts).flatMap((file) => findLines(file, pattern))
  return found.length > 0 ? [...found.map((place) => `${place}: ${name}`), `${advice}\n`] : []
}

/** @param {string} path file or folder */
function listTexts(path) {
  if (path.endsWith('.md')) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|tsx|js|md)$/.test(file) && !/(^|\/)(node_modules|dist|cache)\//.test(file))
    .map((file) => join(path, file))
    .filter((file) => file !== join('scripts', 'check-comments.js'))
}

/** @param {string} file @param {RegExp} pattern */
function findLines(file, pattern) {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(pattern)].map(({ index, 0: match }) => {
    const line = text.slice(0, index + match.length).split('\n').length
    return `${file}:${line}`
  })
}
