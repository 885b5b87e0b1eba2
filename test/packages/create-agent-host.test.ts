import { readFileSync } from 'node:fs'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { VERSION } from '../../src/version.ts'
import { runNode } from '../support/run-cli.ts'
import { makeProject, type TempProject } from '../support/temp-project.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SOURCE = `${ROOT}packages/create-agent-host`

/** A folder as a package manager leaves it after it has fetched the package and what that depends on. */
async function makeFetched(): Promise<TempProject & { readonly script: string }> {
  const project = await makeProject()
  await mkdir(project.path('node_modules'))
  await symlink(ROOT, project.path('node_modules/agent-host'))
  await cp(SOURCE, project.path('node_modules/create-agent-host'), { recursive: true })
  return { ...project, script: project.path('node_modules/create-agent-host/index.js') }
}

describe('create-agent-host', () => {
  it('creates a project as init does, and installs its dependencies', async () => {
    const { dir, script, exists } = await makeFetched()
    const env = {
      npm_config_user_agent: 'npm/11.0.0',
      npm_config_registry: 'http://127.0.0.1:1',
      npm_config_fetch_retries: '0',
    }
    const { exitCode, stdout, stderr } = await runNode([script, 'shop', '--yes', '--template', 'rag'], {
      cwd: dir,
      env,
    })
    expect(exitCode).to.equal(0)
    expect(stdout).to.contain('Created project shop.\nInstalling dependencies with npm.\n')
    // Nothing listens at that address.
    expect(stderr).to.contain('npm install failed')
    expect(exists('shop/documents/returns.md')).to.equal(true)
  })

  it('accepts the flags of init', async () => {
    const { dir, script } = await makeFetched()
    const { stdout } = await runNode([script, 'shop', '--yes', '--no-install'], { cwd: dir })
    expect(stdout).to.equal('Created project shop.\n  cd shop\n  agent-host dev\n')
    expect((await runNode([script, '--help'], { cwd: dir })).stdout).to.contain('$ agent-host init')
  })

  it('matches this version of agent-host', () => {
    const { version, dependencies } = JSON.parse(readFileSync(`${SOURCE}/package.json`, 'utf8'))
    expect({ version, dependencies }).to.deep.equal({ version: VERSION, dependencies: { 'agent-host': `^${VERSION}` } })
  })
})
