import { HostError } from 'agent-host'
import { expect } from 'chai'
import { listLibrary, ModuleLoader } from '../../src/module/load-module.ts'
import { ProjectCode } from '../../src/module/project-code.ts'
import { makeProject } from '../support/temp-project.ts'

const moduleNamed = (name: string) =>
  `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: '${name}', provides: [TextMessageHandler], create: () => ({ handleText() {} }) })
export const other = defineModule({ name: '${name}2', provides: [TextMessageHandler], create: () => ({ handleText() {} }) })`

async function makeLoader(files: Record<string, string>) {
  const project = await makeProject(files)
  const loader = new ModuleLoader(project.dir, new ProjectCode(project.dir))
  const name = async (reference: string) => {
    const { module, source } = await loader.load(reference)
    return `${source} ${module.name}`
  }
  const refusal = async (reference: string) => {
    const error = await loader.load(reference).catch((thrown: unknown) => thrown)
    if (!(error instanceof HostError)) throw new Error('It was loaded.')
    return [error.code, error.message, ...error.suggestions]
  }
  return { project, loader, name, refusal }
}

describe('ModuleLoader', () => {
  it("looks into the project's modules before the library", async () => {
    const { project, loader, name } = await makeLoader({})
    expect(await name('echo')).to.equal('library Echo')
    await project.write('modules/echo.ts', moduleNamed('OwnEcho'))
    loader.forget(new Set([project.path('modules/echo.ts')]))
    expect(await name('echo')).to.equal('ejected OwnEcho')
  })

  it('reads every kind of file, nested folders, named exports, and files anywhere in the project', async () => {
    const { name } = await makeLoader({
      'modules/a.mts': moduleNamed('A'),
      'modules/b.js': moduleNamed('B'),
      'modules/deep/er/c.mjs': moduleNamed('C'),
      'lib/thing.ts': moduleNamed('Thing'),
    })
    expect(await name('a')).to.equal('project A')
    expect(await name('b')).to.equal('project B')
    expect(await name('deep/er/c')).to.equal('project C')
    expect(await name('deep/er/c#other')).to.equal('project C2')
    expect(await name('./lib/thing.ts')).to.equal('project Thing')
  })

  it('loads a module of an npm package of the project', async () => {
    const { name } = await makeLoader({
      'node_modules/@acme/agent-modules/package.json':
        '{ "name": "@acme/agent-modules", "exports": { "./rag": "./rag.js" } }',
      'node_modules/@acme/agent-modules/rag.js': moduleNamed('Rag'),
    })
    expect(await name('@acme/agent-modules/rag')).to.equal('package Rag')
  })

  it('says what it looked for, and what was probably meant', async () => {
    const { refusal } = await makeLoader({
      'modules/weather.ts': moduleNamed('Weather'),
      'modules/plain.ts': 'export default 1',
    })
    expect((await refusal('wether')).slice(0, 3)).to.deep.equal([
      'MODULE_NOT_FOUND',
      "The module 'wether' was not found in the project's modules/ or the library.",
      "Did you mean 'weather'?",
    ])
    expect((await refusal('../secret')).slice(0, 2)).to.deep.equal([
      'MODULE_NOT_FOUND',
      "The module '../secret' was not found: there is no file ../secret.",
    ])
    expect((await refusal('a/../../b')).slice(0, 2)).to.deep.equal([
      'MODULE_NOT_FOUND',
      "'a/../../b' is not a module reference.",
    ])
    expect((await refusal('plain')).slice(0, 2)).to.deep.equal([
      'MODULE_INVALID',
      "'plain' has no default export that was made with defineModule.",
    ])
    expect(await refusal('weather#Othr')).to.deep.equal([
      'MODULE_INVALID',
      "'weather#Othr' has no export 'Othr' that was made with defineModule.",
      'Write weather',
      'Write weather#other',
    ])
  })

  it('lists the library', () => {
    expect(listLibrary()).to.deep.equal([
      'chunker/token',
      'conversation/history',
      'conversation/persistent',
      'conversation/summarizing',
      'conversation/windowed',
      'echo',
      'embedder/local',
      'embedder/openai',
      'llm/anthropic',
      'llm/auto',
      'llm/bedrock',
      'llm/cassette',
      'llm/combinator',
      'llm/fallback',
      'llm/google',
      'llm/mock',
      'llm/offline',
      'llm/ollama',
      'llm/openai',
      'llm/openai-compatible',
      'memory/exact-index',
      'memory/vector-memory',
      'orchestrator/pipeline',
      'orchestrator/react',
      'orchestrator/router',
      'orchestrator/stage',
      'orchestrator/tool-loop',
      'response/collector',
      'tools/local',
      'tools/mcp',
      'tools/memory',
    ])
  })
})
