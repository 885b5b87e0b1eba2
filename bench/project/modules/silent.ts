import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineModule, TextMessageHandler } from 'agent-host'

/** Writes its question and the time of its abort to `aborted.txt`. */
export default defineModule({
  name: 'Silent',
  description: 'Says nothing until it is stopped.',
  provides: [TextMessageHandler],
  create: (_dependencies, _config, { projectDir }) => ({
    handleText: (text, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          appendFileSync(join(projectDir, 'aborted.txt'), `${text} ${performance.timeOrigin + performance.now()}\n`)
          reject(signal.reason)
        })
      }),
  }),
})
