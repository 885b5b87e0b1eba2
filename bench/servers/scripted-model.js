// A vendor's API for chat completions that streams the same twenty words to every request.
import { createServer } from 'node:http'
import { report } from './report.js'

const frame = (fields) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...fields })}\n\n`
const chunk = (delta, finish_reason = null) => frame({ choices: [{ index: 0, delta, finish_reason }] })
const usage = { prompt_tokens: 11, completion_tokens: 20, total_tokens: 31 }
const words = Array.from({ length: 20 }, (_, index) => chunk({ content: `word ${index} ` }))
const answer = `${words.join('')}${chunk({}, 'stop')}${frame({ choices: [], usage })}data: [DONE]\n\n`

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(answer)
  })
})
server.listen(0, '127.0.0.1', () => report(`http://127.0.0.1:${server.address().port}/v1`))
