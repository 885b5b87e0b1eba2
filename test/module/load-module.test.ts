import { copyFile, readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { HostError } from 'agent-host'
import { expect } from 'chai'
import { listKnownModules, listLibrary, ModuleLoader } from '../../src/module/load-module.ts'
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
  it("prefers the project's modules to the library", async () => {
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

  it('imports packages as Node does: ESM-only exports, CommonJS, native code; one copy for modules and project code', async () => {
    const pkg = (name: string, rest: object) => JSON.stringify({ name, ...rest })
    const define = (name: string) =>
      `defineModule({ name: '${name}', provides: [TextMessageHandler], create: () => ({ handleText() {} }) })`
    const { project, loader, name } = await makeLoader({
      'node_modules/@acme/esm/package.json': pkg('@acme/esm', {
        type: 'module',
        exports: { './item': { import: './src/item.js' } },
      }),
      'node_modules/@acme/esm/src/item.js': `import { defineModule, TextMessageHandler } from 'agent-host'
        globalThis.acmeLoads = (globalThis.acmeLoads ?? 0) + 1
        export default ${define('Esm')}`,
      'node_modules/acme-cjs/package.json': pkg('acme-cjs', { main: './index.js' }),
      'node_modules/acme-cjs/index.js': `Object.defineProperty(exports, '__esModule', { value: true })
        const TextMessageHandler = { name: 'TextMessageHandler', methods: ['handleText'] }
        const defineModule = (facts) => ({ uses: {}, config: { type: 'object', properties: {} }, scope: 'instance', description: '', ...facts,
          [Symbol.for('agent-host.module')]: 1 })
        exports.default = ${define('Cjs')}
        exports.named = ${define('CjsNamed')}`,
      'node_modules/acme-native/package.json': pkg('acme-native', { type: 'module', exports: './index.js' }),
      'node_modules/acme-native/index.js': `import { createRequire } from 'node:module'
        import { defineModule, TextMessageHandler } from 'agent-host'
        const addon = createRequire(import.meta.url)('./addon.node')
        export default ${define('Native').replace("'Native'", "'Native ' + (Object.keys(addon).length > 0)")}`,
      'modules/reuse.ts': `import item from '@acme/esm/item'\nexport default { ...item, name: 'Reused' + item.name }`,
    })
    const addon = createRequire(createRequire(import.meta.url).resolve('libsql'))
    const [target = ''] = (await readdir('node_modules/@libsql')).filter((folder) => folder !== 'isomorphic-ws')
    await copyFile(addon.resolve(`@libsql/${target}`), project.path('node_modules/acme-native/addon.node'))
    expect(await name('@acme/esm/item')).to.equal('package Esm')
    expect((await loader.load('reuse')).module.name).to.equal('ReusedEsm')
    expect((globalThis as { acmeLoads?: number }).acmeLoads).to.equal(1)
    expect(await name('acme-cjs')).to.equal('package Cjs')
    expect(await name('acme-cjs#named')).to.equal('package CjsNamed')
    expect(await name('acme-native')).to.equal('package Native true')
  })

  it('finds the modules of a package in the folder that it declares, and lists them', async () => {
    const { project, name, refusal } = await makeLoader({
      'package.json': '{ "dependencies": { "@acme/kit": "1", "not-installed": "1" } }',
      'modules/mine.ts': moduleNamed('Mine'),
      'node_modules/@acme/kit/package.json':
        '{ "name": "@acme/kit", "type": "module", "agent-host": { "modules": "./modules", "api": 1 } }',
      'node_modules/@acme/kit/modules/rag/fast.js': moduleNamed('Fast'),
      'node_modules/@acme/kit/modules/typed.ts': moduleNamed('Typed'),
      'node_modules/@acme/kit/modules/lib/helper.js': 'export const helper = 1',
    })
    expect(await name('@acme/kit/rag/fast')).to.equal('package Fast')
    expect(await name('@acme/kit/typed#other')).to.equal('package Typed2')
    const known = listKnownModules(project.dir)
    expect(known.filter((reference) => reference.includes('kit'))).to.deep.equal([
      '@acme/kit/rag/fast',
      '@acme/kit/typed',
    ])
    expect(known).to.include.members(['mine', 'echo'])
    expect((await refusal('@acme/kit/rag/fats')).slice(1, 3)).to.deep.equal([
      "The module '@acme/kit/rag/fats' was not found among the packages of the project.",
      "Did you mean '@acme/kit/rag/fast'?",
    ])
  })

  it('rejects a package for a later version of the interface', async () => {
    const { refusal } = await makeLoader({
      'node_modules/future/package.json':
        '{ "name": "future", "type": "module", "exports": "./index.js", "agent-host": { "modules": ".", "api": 2 } }',
      'node_modules/future/index.js': moduleNamed('Future'),
      'modules/later.ts': `${moduleNamed('Later').replace('export default', 'const module =')}
export default { ...module, [Symbol.for('agent-host.module')]: 2 }`,
    })
    const advice = 'Update agent-host, or install an earlier version of the package.'
    const was = 'was written for version 2 of the module API; this agent-host has version 1.'
    expect(await refusal('future')).to.deep.equal(['MODULE_INVALID', `The package 'future' ${was}`, advice])
    expect(await refusal('later')).to.deep.equal(['MODULE_INVALID', `The module 'later' ${was}`, advice])
  })

  it('names the places it searched, and suggests the nearest name', async () => {
    const { refusal } = await makeLoader({
      'modules/weather.ts': moduleNamed('Weather'),
      'modules/plain.ts': 'export default 1',
    })
    expect(await refusal('wether')).to.deep.equal([
      'MODULE_NOT_FOUND',
      "The module 'wether' was not found in the project's modules/ or the library.",
      "Did you mean 'weather'?",
    ])
    expect((await refusal('tool-loop')).slice(2)).to.deep.equal(["Did you mean 'orchestrator/tool-loop'?"])
    expect((await refusal('nothing-like-it')).slice(2)).to.match(/^Modules of the library: chunker\/token, /)
    expect((await refusal('./secret.ts')).slice(0, 2)).to.deep.equal([
      'MODULE_NOT_FOUND',
      "The module './secret.ts' was not found: there is no file ./secret.ts.",
    ])
    expect((await refusal('../secret')).slice(0, 2)).to.deep.equal([
      'MODULE_INVALID',
      "'../secret' is outside the project folder.",
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
      'evals/judge',
      'guard/input',
      'guard/output',
      'llm/anthropic',
      'llm/auto',
      'llm/bedrock',
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
      'tools/agents',
      'tools/local',
      'tools/mcp',
      'tools/memory',
      'tools/openapi',
      'tools/skills',
    ])
  })
})
