import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { execa } from 'execa'
import { makeProject } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const quiet = { env: { npm_config_loglevel: 'error', npm_config_fund: 'false', npm_config_audit: 'false' } }

describe('the package', () => {
  let tarball: string
  let files: string[]

  before(async function () {
    this.timeout(120_000)
    const folder = await mkdtemp(join(tmpdir(), 'agent-host-pack-'))
    const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: ROOT,
      ...quiet,
    })
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf('[')))
    tarball = join(folder, packed.filename)
    files = packed.files.map(({ path }: { path: string }) => path)
  })

  after(() => rm(dirname(tarball), { recursive: true, force: true }))

  it('holds what users need, and nothing else', () => {
    const kinds = files.map((file) => file.replace(/^(dist|modules|templates)\/.*/, '$1'))
    expect([...new Set(kinds)].sort()).to.deep.equal([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin/run.js',
      'dist',
      'modules',
      'oclif.manifest.json',
      'package.json',
      'templates',
    ])
    expect(files).to.include.members([
      'dist/index.js',
      'dist/index.d.ts',
      'dist/modules/tools/lib/python-worker.py',
      'modules/tools/lib/python-worker.py',
      'modules/llm/auto.ts',
      'templates/project/gitignore',
      'templates/project/env',
    ])
    expect(files.filter((file) => /\.tgz$|tsconfig\.build|__pycache__/.test(file))).to.deep.equal([])
  })

  it('does its main job from an empty folder: installs, makes a project, tests it, checks its types, and answers', async function () {
    this.timeout(180_000)
    const { dir, path } = await makeProject()
    await execa('npm', ['init', '-y'], { cwd: dir, ...quiet })
    const { all } = await execa('npm', ['install', tarball], { cwd: dir, all: true, ...quiet })
    expect(all).not.to.match(/EBADENGINE|deprecated/)
    const command = path('node_modules/.bin/agent-host')
    await execa(command, ['init', 'myproj', '--yes'], { cwd: dir })
    const project = path('myproj')
    const { stdout } = await execa(command, ['test'], { cwd: project })
    expect(stdout).to.match(/pass 2/)
    await checkTypes(dir, project)
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

/** The project's own sources, and a module of the library that was copied as it is, against the package's types. */
async function checkTypes(dir: string, project: string): Promise<void> {
  await mkdir(join(project, 'modules/llm'), { recursive: true })
  const { default: fsExtra } = await import('fs-extra')
  await fsExtra.copy(join(dir, 'node_modules/agent-host/modules'), join(project, 'modules'), { overwrite: false })
  await fsExtra.ensureSymlink(join(ROOT, 'node_modules/@types'), join(dir, 'node_modules/@types'))
  const { stdout, exitCode } = await execa(
    process.execPath,
    [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project],
    { reject: false },
  )
  expect([exitCode, stdout]).to.deep.equal([0, ''])
}

function readAddress(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    output.on('data', (chunk) => {
      text += chunk
      const address = /ready at (http:\S+)/.exec(text)?.[1]
      if (address) resolve(address)
    })
    output.on('end', () => reject(new Error(`The server stopped: ${text}`)))
  })
}
