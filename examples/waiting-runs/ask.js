import { open } from './open.js'

const project = await open()
project.onWaiting(({ runId, pending }) => {
  for (const { name, arguments: args } of pending) console.log(`${runId} waits for ${name}(${JSON.stringify(args)})`)
})
const { status, text } = await project.run('shop', process.argv[2] ?? 'Please refund 20 euros.')
if (status === 'completed') console.log(text)
await project.close()
