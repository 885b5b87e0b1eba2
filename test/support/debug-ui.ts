import { readdir } from 'node:fs/promises'
import type { ServerOptions } from 'agent-host'
import { expect } from 'chai'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Questions } from '../../src/server/adapters/ui/questions/questions.ts'
import { type BuiltServer, buildServer } from '../../src/server/server.ts'
import { chromiumPath, launchBrowser, NO_BROWSER, openPage, type WatchedPage } from './browser.ts'
import { eventually } from './eventually.ts'
import { ask } from './graphql.ts'
import { chat } from './server.ts'
import { makeSharedProject, removeFolder, type TempProject } from './temp-project.ts'

export const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script> [link](javascript:alert(3)) "><b>bold</b>'

const PROJECT: Readonly<Record<string, string>> = {
  'agents/echo.yml': 'id: echo\ndescription: Says it again\nmodules: [{ id: main, module: echo }]',
  'agents/desk.yml': `id: desk
title: The desk
description: Two departments
modules:
  - { id: sales, module: echo, config: { prefix: 'sales ' } }
  - { id: billing, module: echo, config: { prefix: 'billing ' } }
exchange: [{ module: __entry__, protocol: TextMessageHandler, provider: [sales, billing] }]`,
  'agents/finder.yml': `id: finder
description: ${JSON.stringify(`Looks in two places at once ${HOSTILE}`)}
modules:
  - { id: planner, module: planner }
  - { id: near, module: place, config: { name: near, api_key: literal-secret } }
  - { id: far, module: place, config: { name: far, fails: true } }
exchange: [{ module: planner, protocol: ToolProvider, provider: [near, far] }]`,
  'modules/place.ts': `import { defineModule, ToolProvider, Type } from 'agent-host'
export default defineModule({ name: 'Place', description: 'Where things may be', provides: [ToolProvider],
  config: Type.Object({ name: Type.String(), fails: Type.Boolean({ default: false }), api_key: Type.String({ default: '' }) }),
  create: (_, { name, fails }) => ({
    listTools: () => [{ name: 'look_' + name, description: 'Looks there', parameters: { type: 'object', properties: { what: { type: 'string' } } } }],
    async executeTool(tool, args) { await new Promise((done) => setTimeout(done, 15)); if (fails) throw new Error('It is closed there'); return { text: 'found ' + args.what } } }) })`,
  'modules/planner.ts': `import { setTimeout } from 'node:timers/promises'
import { defineModule, many, Response, TextMessageHandler, ToolProvider } from 'agent-host'
export default defineModule({ name: 'Planner', provides: [TextMessageHandler], uses: { tools: many(ToolProvider), response: Response },
  create: ({ tools, response }) => ({ async handleText(text, run) {
    const lists = await Promise.all(tools.map((tool) => tool.listTools(run)))
    if (/^\\d+ calls$/.test(text)) {
      for (let n = 0; n < parseInt(text); n++) {
        // In no order that repeats, so that nothing is folded.
        const tool = tools[(n * n + (n >> 3)) % 7 < 3 ? 0 : 1]
        await tool.listTools(run)
      }
      return response.respondText('called')
    }
    await Promise.allSettled(tools.map((tool, n) => tool.executeTool(lists[n][0].name, { what: text }, run)))
    if (text === 'fail') throw new Error('The planner gave up')
    for (const word of ['I ', 'looked ', 'for ', text]) await response.respondText(word)
    // Until it is stopped.
    while (text.startsWith('slow')) { await response.respondText(' more'); await setTimeout(100, undefined, { signal: run.signal }) }
  } }) })`,
}

type OpenQuestions = (projectDir: string) => Questions | undefined

/** Browser of all suites of this process, which ends it. */
let launched: Promise<Browser> | undefined

/** A server in debug mode and a browser for the tests of a file. What a test leaves behind is gone before the next one. */
export class DebugUi {
  project!: TempProject
  server!: BuiltServer
  /** Where pages look for it; a test may put something in between. */
  url = ''
  /** Complaints of the page that the test brings about. */
  readonly expected: RegExp[] = []
  #browser: Browser | undefined
  #pages: WatchedPage[] = []
  #address = ''
  readonly #options: Partial<ServerOptions>
  readonly #files: Readonly<Record<string, string>>
  readonly #openQuestions: OpenQuestions

  private constructor(
    options: Partial<ServerOptions>,
    files: Readonly<Record<string, string>>,
    openQuestions: OpenQuestions,
  ) {
    this.#openQuestions = openQuestions
    this.#options = options
    this.#files = { ...PROJECT, ...files }
  }

  /**
   * Registers the hooks. Where there is no browser the suite is skipped, and says so.
   *
   * @param options of the server, beside those of `dev`
   * @param files of the project, beside those that every suite has
   * @param openQuestions opens the terminal of a project; default: there is none
   */
  static forSuite(
    options: Partial<ServerOptions> = {},
    files: Readonly<Record<string, string>> = {},
    openQuestions: OpenQuestions = () => undefined,
  ): DebugUi {
    const ui = new DebugUi(options, files, openQuestions)
    before(async function () {
      if (!chromiumPath) {
        console.log(`      ${NO_BROWSER}`)
        this.skip()
      }
      launched ??= launchBrowser()
      ui.#browser = await launched
      ui.project = await makeSharedProject(ui.#files)
      await ui.serve(0)
    })
    afterEach(async function () {
      const complaints = ui.#pages.splice(0).flatMap((watched) => watched.complaints)
      for (const context of ui.#browser?.contexts() ?? []) await context.close()
      if (ui.server) await ui.#reset()
      const expected = ui.expected.splice(0)
      const others = complaints.filter((complaint) => !expected.some((pattern) => pattern.test(complaint)))
      if (this.currentTest?.state !== 'failed') expect(others).deep.equal([])
    })
    after(async () => {
      await ui.server?.close()
      if (ui.project) await removeFolder(ui.project.dir)
    })
    return ui
  }

  async serve(port: number): Promise<void> {
    const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter', 'McpApiAdapter']
    const options = { adapters, debug: true, development: true, port, logLevel: 'silent', drainTimeout: 0 } as const
    const { dir } = this.project
    this.server = await buildServer({ projectDir: dir, ...options, ...this.#options }, this.#openQuestions(dir))
    this.#address = await this.server.listen()
    this.url = this.#address
  }

  /** Writes files, and waits until the agents among them are in service: the server watches the folder, and may be loading them. */
  async add(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [file, text] of Object.entries(files)) await this.project.write(file, text)
    await this.server.agents.scan()
    const texts = Object.entries(files).flatMap(([file, text]) => (file.startsWith('agents/') ? [text] : []))
    const served = () => texts.map((text) => this.server.agents.sourceOf(/^id: (\S+)/m.exec(text)?.[1] ?? ''))
    await eventually(() => expect(served()).deep.equal(texts))
  }

  /** @param hash the address within the page */
  async open(hash = '', options: BrowserContextOptions = {}): Promise<Page> {
    if (!this.#browser) throw new Error('There is no browser.')
    const watched = await openPage(this.#browser, `${this.url}/${hash}`, options)
    this.#pages.push(watched)
    return watched.page
  }

  /** What the pages have complained of so far was to be expected. */
  forgive(): void {
    for (const { complaints } of this.#pages) complaints.length = 0
  }

  /** Removes the runs, decisions and files of a test. */
  async #reset(): Promise<void> {
    this.url = this.#address
    for (const response of await this.#waiting()) {
      await this.server.app.inject({ method: 'DELETE', url: `/compat/responses/${response}` })
    }
    const { list_agents: agents } = await ask<{ list_agents: { id: string }[] }>(this.server, '{ list_agents { id } }')
    const fields = agents.map(({ id }, index) => `a${index}: clear_log(agent_id: ${JSON.stringify(id)})`)
    await ask(this.server, `mutation { ${fields.join(' ')} }`, {}, { origin: 'http://localhost:80' })
    await this.#restoreFiles()
  }

  /** Ids of the responses that wait for a decision. */
  async #waiting(): Promise<string[]> {
    const { body } = await this.server.app.inject({ url: '/compat/approvals' })
    const { data } = JSON.parse(body) as { data: { response_id: string }[] }
    return [...new Set(data.map(({ response_id }) => response_id))]
  }

  async #restoreFiles(): Promise<void> {
    const { project, server } = this
    const listed = await Promise.all(
      ['agents', 'modules'].map(async (folder) => {
        return (await readdir(project.path(folder))).map((name) => `${folder}/${name}`)
      }),
    )
    const added = listed.flat().filter((file) => !Object.hasOwn(this.#files, file))
    for (const file of added) await project.remove(file)
    for (const [file, text] of Object.entries(this.#files)) {
      if ((await project.read(file)) !== text) await project.write(file, text)
    }
    await server.agents.scan(new Set(added.map((file) => project.path(file))))
  }

  /** Asks an agent; answers the id of the run, or nothing when it failed. */
  async complete(model: string, content: string): Promise<string> {
    const payload = chat(model, content)
    const { body } = await this.server.app.inject({ method: 'POST', url: '/compat/chat/completions', payload })
    return (JSON.parse(body).id ?? '').replace('chatcmpl-', '')
  }
}

export function see(page: Page, text: string | RegExp): Promise<void> {
  return page.getByText(text).first().waitFor({ timeout: 10_000 })
}
