import { Value } from 'typebox/value'
import openaiCompatible from '../../modules/llm/openai-compatible.ts'
import { startModelServer } from './fake-model-server.ts'
import { makeContext } from './fake-run.ts'

/** Makes the module talk to a fake API; the servers of a test are stopped after it. For use inside `describe`. */
export function connectsModels() {
  const open: Awaited<ReturnType<typeof startModelServer>>[] = []
  afterEach(() => Promise.all(open.splice(0).map((server) => server.stop())))

  return async function connect(answers: Parameters<typeof startModelServer>, config: object = {}) {
    const server = await startModelServer(...answers)
    open.push(server)
    const given = { base_url: server.url, model: 'm', api_key: 'sk-secret', ...config }
    const context = makeContext()
    const llm = await openaiCompatible.create(
      {},
      Value.Parse(openaiCompatible.config, Value.Default(openaiCompatible.config, given)),
      context,
    )
    return { server, llm, log: context.lines }
  }
}

export const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'It did not fail.',
    (error: Error) => error.message,
  )

export const words = [{ role: 'assistant', content: 'one' }, { content: ' two' }]
