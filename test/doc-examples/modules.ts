// Examples of doc comments: `node scripts/fill-examples.js` puts each region into the comment of the export that it is named for.
import {
  ApprovalPolicy,
  AudioMessageHandler,
  Chunker,
  ConversationHistory,
  defineModule,
  defineProtocol,
  defineTool,
  Embedder,
  ImageMessageHandler,
  InputGuard,
  LLM,
  Memory,
  type ModuleContext,
  many,
  OutputGuard,
  optional,
  Response,
  type Run,
  Skills,
  Storage,
  TextMessageHandler,
  ToolProvider,
  Type,
  VectorIndex,
  VideoMessageHandler,
} from 'agent-host'

// #region defineModule
export const greeter = defineModule({
  name: 'Greeter',
  description: 'Repeats the message, after a greeting.',
  provides: [TextMessageHandler],
  uses: { response: Response },
  config: Type.Object({ greeting: Type.String({ default: 'Hello: ', description: 'Start of every answer.' }) }),
  create: ({ response }, { greeting }) => ({
    handleText: (text) => response.respondText(greeting + text),
  }),
})
// #endregion

// #region defineTool
export const countWords = defineTool({
  description: 'Counts the words of a text.',
  parameters: Type.Object({ text: Type.String() }),
  execute: ({ text }) => ({ words: text.split(/\s+/).filter((word) => word !== '').length }),
})
// #endregion

// #region defineProtocol
export interface Dictionary {
  meaningOf(word: string, run: Run): Promise<string | undefined>
}
export const Dictionary = defineProtocol<Dictionary>('Dictionary', ['meaningOf'])
// #endregion

// #region many
export const allTools = defineModule({
  name: 'AllTools',
  provides: [TextMessageHandler],
  uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools, response }) => ({
    async handleText(_text, run) {
      const lists = await Promise.all(tools.map((provider) => provider.listTools(run)))
      await response.respondText(
        lists
          .flat()
          .map(({ name }) => name)
          .join(', '),
      )
    },
  }),
})
// #endregion

// #region optional
export const rememberer = defineModule({
  name: 'Rememberer',
  provides: [TextMessageHandler],
  uses: { memory: optional(Memory), response: Response },
  create: ({ memory, response }) => ({
    async handleText(text, run) {
      const [match] = (await memory?.search(text, 1, run)) ?? []
      await response.respondText(match?.text ?? 'I remember nothing of it.')
    },
  }),
})
// #endregion

// #region LLM
export const parrot = defineModule({
  name: 'Parrot',
  provides: [LLM],
  create: () => ({
    async *generate({ messages }, run) {
      run.signal.throwIfAborted()
      yield { type: 'text', text: messages.at(-1)?.content ?? '' }
      yield { type: 'finish', reason: 'stop' }
    },
  }),
})
// #endregion

// #region ToolProvider
export const clock = defineModule({
  name: 'Clock',
  provides: [ToolProvider],
  create: () => ({
    listTools: () => [{ name: 'now', description: 'Tells the time.', parameters: Type.Object({}) }],
    executeTool: async () => ({ text: new Date().toISOString() }),
  }),
})
// #endregion

// #region TextMessageHandler
export const shouter = defineModule({
  name: 'Shouter',
  provides: [TextMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({ handleText: (text) => response.respondText(text.toUpperCase()) }),
})
// #endregion

// #region ImageMessageHandler
export const pictures = defineModule({
  name: 'Pictures',
  provides: [ImageMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({ handleImage: (image) => response.respondImage(image) }),
})
// #endregion

// #region AudioMessageHandler
export const sounds = defineModule({
  name: 'Sounds',
  provides: [AudioMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({ handleAudio: ({ mediaType }) => response.respondText(`I got ${mediaType}.`) }),
})
// #endregion

// #region VideoMessageHandler
export const videos = defineModule({
  name: 'Videos',
  provides: [VideoMessageHandler],
  uses: { response: Response },
  create: ({ response }) => ({ handleVideo: ({ name = 'a video' }) => response.respondText(`I got ${name}.`) }),
})
// #endregion

// #region Response
export const inItalics = defineModule({
  name: 'InItalics',
  provides: [Response],
  uses: { response: Response },
  create: ({ response }) => ({
    respondText: (text) => response.respondText(`*${text}*`),
    respondReasoning: (...piece) => response.respondReasoning(...piece),
    respondImage: (image) => response.respondImage(image),
    respondAudio: (audio) => response.respondAudio(audio),
    respondFile: (file) => response.respondFile(file),
    respondEvent: (...event) => response.respondEvent?.(...event),
    getResponse: () => response.getResponse(),
  }),
})
// #endregion

// #region ConversationHistory
export const lastTen = defineModule({
  name: 'LastTen',
  provides: [ConversationHistory],
  uses: { history: ConversationHistory },
  create: ({ history }) => ({
    getHistory: async (run) => (await history.getHistory(run)).slice(-10),
    addMessage: (message, run) => history.addMessage(message, run),
    clearHistory: (run) => history.clearHistory(run),
  }),
})
// #endregion

// #region Memory
export const noter = defineModule({
  name: 'Noter',
  provides: [TextMessageHandler],
  uses: { memory: Memory, response: Response },
  create: ({ memory, response }) => ({
    async handleText(text, run) {
      const id = await memory.store(text, { source: 'user' }, run)
      await response.respondText(`Remembered as ${id}.`)
    },
  }),
})
// #endregion

// #region Storage
export const visits = defineModule({
  name: 'Visits',
  provides: [TextMessageHandler],
  uses: { storage: Storage, response: Response },
  create: ({ storage, response }) => ({
    async handleText(_text, run) {
      for (;;) {
        const before = await storage.get('visits', run)
        const count = Number(before ?? 0) + 1
        // Another server may have counted meanwhile.
        if (await storage.replace('visits', before, count, run)) return response.respondText(`Visit ${count}.`)
      }
    },
  }),
})
// #endregion

// #region Chunker
export const paragraphs = defineModule({
  name: 'Paragraphs',
  provides: [Chunker],
  create: () => ({ chunk: async (text) => text.split(/\n{2,}/) }),
})
// #endregion

// #region Embedder
export const lengths = defineModule({
  name: 'Lengths',
  provides: [Embedder],
  create: () => ({ embed: async (texts) => texts.map((text) => Float32Array.of(text.length, 1)) }),
})
// #endregion

// #region VectorIndex
export const nearest = defineModule({
  name: 'Nearest',
  provides: [TextMessageHandler],
  uses: { embedder: Embedder, index: VectorIndex, response: Response },
  create: ({ embedder, index, response }) => ({
    async handleText(text, run) {
      const [vector] = await embedder.embed([text], run)
      const [found] = vector ? await index.search(vector, 1, run) : []
      await response.respondText(found?.id ?? 'Nothing is near.')
    },
  }),
})
// #endregion

// #region InputGuard
export const noShouting = defineModule({
  name: 'NoShouting',
  provides: [InputGuard],
  create: () => ({
    checkInput: (texts) =>
      texts.map((text) =>
        /^[^a-z]{20,}$/.test(text)
          ? { action: 'block', reply: 'Please do not shout.', reason: 'shouting' }
          : { action: 'pass' },
      ),
  }),
})
// #endregion

// #region OutputGuard
export const noNumbers = defineModule({
  name: 'NoNumbers',
  provides: [OutputGuard],
  create: () => ({
    checkOutput: (text) =>
      /\d/.test(text) ? { action: 'redact', text: text.replace(/\d+/g, '…'), reason: 'a number' } : { action: 'pass' },
  }),
})
// #endregion

// #region ApprovalPolicy
export const smallRefunds = defineModule({
  name: 'SmallRefunds',
  provides: [ApprovalPolicy],
  create: () => ({ ruleFor: (_name, { amount }) => (Number(amount) <= 10 ? 'never' : 'always') }),
})
// #endregion

// #region Skills
export const oneSkill = defineModule({
  name: 'OneSkill',
  provides: [Skills],
  create: () => ({
    listSkills: () => [{ name: 'refunds', description: 'Rules of refunds.', frontMatter: {}, files: [] }],
    readSkillFile: async () => undefined,
  }),
})
// #endregion

// #region Run
export async function fetchOrder(id: string, run: Run): Promise<string> {
  run.reportProgress(`order ${id}`)
  const reply = await fetch(`https://shop.example/orders/${id}`, { signal: run.signal })
  return reply.text()
}
// #endregion

// #region ModuleContext
export function readKey({ environment, log, moduleId }: ModuleContext): string | undefined {
  const key = environment.SHOP_KEY
  if (key === undefined) log.warn(`SHOP_KEY is not set, which ${moduleId} needs`)
  return key
}
// #endregion
