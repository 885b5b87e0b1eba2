/**
 * Turns of `HttpAgent`, in a process of its own: tsx takes sources for the files of `fast-json-patch`, which the client uses. Takes the config of a client
 * and the parameters of a run, and answers with what the client then has.
 */
import { HttpAgent } from '@ag-ui/client'

process.on('message', async ({ run = {}, aborts = false, ...config }) => {
  const agent = new HttpAgent(config)
  await agent.runAgent(run, aborts ? { onTextMessageContentEvent: () => agent.abortRun() } : {})
  const { threadId, messages, state, pendingInterrupts } = agent
  process.send?.({ threadId, messages, state, pendingInterrupts })
})
