import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Start of a doc comment that reads as a question instead of a name or an action. */
const QUESTION = /\/\*\*[\s*]*(What|Whether|Where|How|Who)\b/g

const problems = ['src', 'modules', 'ui/src', 'scripts'].flatMap(listCode).flatMap(findQuestions)
if (problems.length > 0) {
  console.error(`${problems.join('\n')}\nBegin these doc comments with a noun or a verb.`)
  process.exitCode = 1
}

/** @param {string} folder */
function listCode(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|tsx|js)$/.test(file))
    .map((file) => join(folder, file))
}

/** @param {string} file */
function findQuestions(file) {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(QUESTION)].map(({ index, 0: start, 1: word }) => {
    const line = text.slice(0, index + start.length).split('\n').length
    return `${file}:${line}: doc comment begins with '${word}'`
  })
}
