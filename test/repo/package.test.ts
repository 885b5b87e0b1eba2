import { spawn } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import fsExtra from 'fs-extra'
import { publint } from 'publint'
import { listLibrary } from '../../src/module/load-module.ts'
import { TEMPLATES } from '../../src/project/create/templates.ts'
import { AGENTS, check, checkTypes, InstalledPackage, writeAgent } from '../support/installed-package.ts'
import { itWith } from '../support/it-with.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

describe('the package', () => {
  let installed: InstalledPackage

  before(async function () {
    this.timeout(300_000)
    installed = await InstalledPackage.create()
  })

  after(() => installed?.[Symbol.asyncDispose]())

  it('contains what users need, and nothing else', () => {
    const { files } = installed
    const kinds = files.map((file) => file.replace(/^(deploy|dist|docs|modules|templates)\/.*/, '$1'))
    expect([...new Set(kinds)].sort()).to.deep.equal([
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'bin/run.js',
      'deploy',
      'dist',
      'docs',
      'modules',
      'oclif.manifest.json',
      'package.json',
      'templates',
    ])
    expect(files).to.include.members([
      'dist/index.js',
      'dist/index.d.ts',
      'dist/modules/tools/lib/local/python-worker.py',
      'modules/tools/lib/local/python-worker.py',
      'modules/llm/auto.ts',
      'templates/project/gitignore',
      'templates/project/vscode/extensions.json',
      'templates/project/env',
    ])
    expect(files.filter((file) => /\.tgz$|tsconfig\.build|__pycache__/.test(file))).to.deep.equal([])
  })

  it('has the pages, pictures and files that its README and its first pages link to', async () => {
    const { files } = installed
    const missing = await Promise.all(
      ['README.md', 'docs/getting-started.md', 'docs/concepts.md', 'docs/deployment.md'].map(async (page) => {
        const text = await readFile(join(ROOT, page), 'utf8')
        const links = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, link = '']) => link)
        const paths = links.filter((link) => !/^[a-z]+:/.test(link)).map((link) => join(page, '..', link))
        return paths.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`)))
      }),
    )
    expect(missing.flat()).deep.equal([])
  })

  it('installs as many packages as docs/what-it-installs.md says', async () => {
    const lock = await readFile(join(installed.dir, 'node_modules/.package-lock.json'), 'utf8')
    const page = await readFile(join(ROOT, 'docs/what-it-installs.md'), 'utf8')
    const count = Object.keys(JSON.parse(lock).packages).length
    // npm takes the versions that the Node it runs on may use.
    const [, on20, later] = /in (\d+) packages on Linux with Node 20, (\d+) with later versions/.exec(page) ?? []
    expect(process.versions.node.startsWith('20.') ? on20 : later).equal(String(count))
  })

  it('resolves in every way that its package.json declares: publint finds nothing', async () => {
    const { buffer } = new Uint8Array(await readFile(installed.tarball))
    const { messages } = await publint({ pack: { tarball: buffer } })
    expect(messages).to.deep.equal([])
  })

  itWith(
    'Python 3.8',
    'has modules that can be ejected, type-checked and loaded from the project, all at once',
    async function () {
      this.timeout(120_000)
      const references = listLibrary()
      expect(Object.keys(AGENTS).sort()).to.deep.equal(references)
      const { dir, command } = installed
      const project = join(dir, 'all')
      await execa(command, ['init', project, '--yes'], { cwd: dir })
      await rm(join(project, 'agents/example.yml'))
      await Promise.all(references.map((reference) => writeAgent(project, reference)))
      const { stderr } = await execa(command, ['eject', '-m', ...references], { cwd: project })
      expect(stderr).to.equal('')
      expect(await checkTypes(project)).to.deep.equal([0, ''])
      const { agents, problems } = await check(command, project)
      expect(problems).to.deep.equal([])
      expect(agents).to.have.length(references.length)
      expect(agents.flatMap(({ modules }) => modules).filter(({ source }) => source !== 'ejected')).to.deep.equal([])
    },
  )

  it('has the types of the packages that it bundles, beside those that an app has installed', async () => {
    const { dir } = installed
    const project = join(dir, 'typed')
    const files = {
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          target: 'es2023',
          module: 'nodenext',
          types: ['node'],
          strict: true,
          noEmit: true,
          skipLibCheck: true,
        },
      }),
      'adapter.ts': `import { type Adapter, type FastifyInstance, Type, compileSchema } from 'agent-host'
        export class Odd implements Adapter {
          adapt(app: FastifyInstance) {
            app.get('/odd', { schema: { response: { 200: Type.String() } } }, (request, reply) => reply.header('x-url', request.url).send('odd'))
            // @ts-expect-error: the type of Fastify's instance is known
            app.got('/odd')
          }
        }
        export const { text }: Type.Static<typeof Text> = { text: 'a' }
        const Text = Type.Object({ text: Type.String() })
        // @ts-expect-error: and that of a schema
        export const { number } = compileSchema(Text).schema.properties`,
      'app.ts': `import { agentHost } from 'agent-host'
        import fastify from 'fastify'
        const app = fastify()
        app.register(agentHost, { prefix: '/agents', adapters: ['ChatCompatApiAdapter'] })
        // @ts-expect-error: options are checked
        app.register(agentHost, { prefix: '/agents', adapters: 1 })`,
    }
    for (const [name, text] of Object.entries(files)) await fsExtra.outputFile(join(project, name), text)
    await fsExtra.ensureSymlink(join(ROOT, 'node_modules/fastify'), join(project, 'node_modules/fastify'))
    expect(await checkTypes(project)).to.deep.equal([0, ''])
  })

  it('has the types of the code of every template', async () => {
    const projects = join(installed.dir, 'templates')
    const names = Object.keys(TEMPLATES)
    await Promise.all(
      names.map((name) => execa(installed.command, ['init', join(projects, name), '--yes', '--template', name])),
    )
    const { compilerOptions } = JSON.parse(await readFile(join(projects, 'minimal/tsconfig.json'), 'utf8'))
    const config = { compilerOptions, include: ['*/modules', '*/tools', '*/tests', '*/evals'] }
    await writeFile(join(projects, 'tsconfig.json'), JSON.stringify(config))
    expect(await checkTypes(projects)).to.deep.equal([0, ''])
  })

  for (const name of ['messages', 'ag-ui']) {
    it(`has what @agent-host/${name} is built against, outside of this repository, and serves it`, async function () {
      this.timeout(120_000)
      const { dir, command } = installed
      const copy = join(dir, 'packages', name)
      await fsExtra.copy(join(ROOT, 'packages', name), copy, {
        filter: (path) => !/[\\/](dist|node_modules)$/.test(path),
      })
      const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
      const { stdout: said } = await execa(process.execPath, [compiler, '-p', copy], { reject: false })
      expect(said).to.equal('')
      const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts'], { cwd: copy })
      const [{ filename, files }] = JSON.parse(stdout)
      const kinds = files.map(({ path }: { path: string }) => path.replace(/^dist\/.*/, 'dist'))
      expect([...new Set(kinds)].sort()).to.deep.equal(['LICENSE', 'README.md', 'dist', 'package.json'])
      // Unpacked, not installed: npm would follow the link to the types of this repository, and tidy it up.
      const place = join(dir, 'node_modules/@agent-host', name)
      await fsExtra.ensureDir(place)
      await execa('tar', ['-xzf', join(copy, filename), '-C', place, '--strip-components', '1'])
      const project = join(dir, `with-${name}`)
      await execa(command, ['init', project, '--yes'], { cwd: dir })
      const options = ['serve', '--adapter', `@agent-host/${name}`, '--port', '0']
      const server = spawn(command, options, { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
      try {
        expect((await fetch(`${await readAddress(server.stdout)}/openapi.json`)).status).to.equal(200)
      } finally {
        server.kill('SIGTERM')
      }
    })
  }

  it('works from an empty folder: creates a project, tests it, and answers', async function () {
    this.timeout(180_000)
    const { dir, command } = installed
    await execa(command, ['init', 'myproj', '--yes'], { cwd: dir })
    const project = join(dir, 'myproj')
    const { stdout } = await execa(command, ['test'], { cwd: project })
    expect(stdout).to.match(/pass 2/)
    const server = spawn(command, ['dev', '--port', '0'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const url = await readAddress(server.stdout)
      const response = await fetch(`${url}/compat/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'example', messages: [{ role: 'user', content: 'What time is it in Tokyo?' }] }),
      })
      expect(await response.text()).to.match(/currentTime says: .*GMT\+9/)
    } finally {
      server.kill('SIGTERM')
    }
    const code = await new Promise((resolve) => server.once('exit', resolve))
    expect(code).to.equal(0)
  })
})

function readAddress(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    output.on('data', (chunk) => {
      text += chunk
      const address = /(?:ready|listening) at (http:[^\s"]+)/.exec(text)?.[1]
      if (address) resolve(address)
    })
    output.on('end', () => reject(new Error(`The server stopped: ${text}`)))
  })
}
