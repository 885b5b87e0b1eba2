import { buildServer } from 'agent-host'
import express from 'express'

const agents = await buildServer({
  projectDir: import.meta.dirname,
  adapters: ['ChatCompatApiAdapter', 'McpApiAdapter'],
  logLevel: 'warn',
})
await agents.watch()

const app = express()
// Before express.json(): agent-host reads the bodies of its own requests.
app.use('/agents', agents.handle)
app.use(express.json())
app.get('/', (_request, response) => response.send('The app itself'))
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
