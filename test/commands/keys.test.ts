import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, lstat, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { KeysDocument } from '../../src/commands/keys/keys-document.ts'
import { readKeysFile } from '../../src/server/guards/keys-file.ts'
import { callCli } from '../support/call-cli.ts'
import { runCli, withFileLimit } from '../support/run-cli.ts'
import { makeProject } from '../support/temp-project.ts'

const ECHO = { 'agents/echo.yml': 'id: echo\nmodules: [{ id: main, module: echo }]' }

describe('agent-host keys', () => {
  async function makeKeys(text?: string) {
    const { dir } = await makeProject(text === undefined ? ECHO : { ...ECHO, 'keys.yml': text })
    const path = join(dir, 'keys.yml')
    const keys = (...args: string[]) => callCli(['keys', ...args], { cwd: dir })
    return { keys, path, dir, text: () => readFile(path, 'utf8') }
  }

  it('add: prints the key once, and writes its digest, for nobody else to read', async () => {
    const { keys, path, dir, text } = await makeKeys()
    const { stdout, stderr, exitCode } = await keys('add', 'ci')
    const key = stdout.trim()
    expect([exitCode, key.length]).to.deep.equal([0, 64])
    expect(stderr).to.equal(
      "This key of 'ci' is shown only now. Servers with --keys keys.yml take it within a second.\n",
    )
    expect(await text()).to.not.contain(key)
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    const {
      keys: [written],
    } = await readKeysFile(path, dir)
    expect(written?.digest).to.equal(hash('sha256', key))
    expect([written?.principal.name, written?.principal.tenant, ...(written?.principal.scopes ?? [])]).to.deep.equal([
      'ci',
      '',
      'run',
    ])
  })

  it('add: keeps comments, order and mode, and the keys that are there', async () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const before = `# Ours\nkeys:\n  # The desk\n  - { name: ada, digest: "${digest}", scopes: [run] } # until May\n`
    const { keys, path, text, dir } = await makeKeys(before)
    await chmod(path, 0o640)
    await keys('add', 'bob', '--tenant', 'acme', '--scope', 'debug', '--scope', 'run', '--expires', '2030-01-31')
    expect((await text()).replace(/\[ | \]/g, (bracket) => bracket.trim()).startsWith(before)).to.equal(true)
    expect((await stat(path)).mode & 0o777).to.equal(0o640)
    expect((await readKeysFile(path, dir)).keys.map(({ principal }) => principal.name)).to.deep.equal(['ada', 'bob'])
    const { stdout } = await keys('list')
    expect(stdout).to.equal(
      'NAME  TENANT  SCOPES      ADAPTERS  AGENTS  LIMITS  EXPIRES     DIGEST\n' +
        'ada   -       run         all       all     none    never       aaaaaaaaaaaa...\n' +
        `bob   acme    run, debug  all       all     none    2030-01-31  ${/sha256:(.{12}).*bob|bob.*sha256:(.{12})/.exec(await text())?.[2]}...\n`,
    )
  })

  it('add: limits a key to agents; list: tells the line of what matches no agent, and of a key that has expired', async () => {
    const { keys, path, dir } = await makeKeys()
    await keys('add', 'ada', '--agent', 'echo', '--agent', 'ehco*', '--agent', 'sales-*')
    await keys('add', 'bob', '--expires', '2020-01-31')
    const { keys: read } = await readKeysFile(path, dir)
    expect(read.map(({ principal }) => principal.agents)).to.deep.equal([['echo', 'ehco*', 'sales-*'], undefined])
    const { stdout, stderr, exitCode } = await keys('list')
    expect(exitCode).to.equal(0)
    expect(stdout).to.contain('  echo, ehco*, sales-*  ')
    const warnings = stderr.replace(/\s+/g, ' ')
    expect(warnings).to.match(
      /keys\.yml:2:\d+: The key of 'ada' is for 'ehco\*', which matches no agent\. Did you mean 'echo'\?/,
    )
    expect(warnings).to.match(/keys\.yml:2:\d+: The key of 'ada' is for 'sales-\*', which matches no agent\./)
    expect(warnings).to.match(
      /keys\.yml:3:\d+: The key of 'bob' has expired\. Write a later day, or take the line out\./,
    )
    expect(warnings).to.not.contain("'echo', which")
  })

  it('add: limits what a key starts; list: shows the limits of keys and tenants', async () => {
    const tenants = '  - { name: acme, limits: { tokens_per_day: 2000000, cost_per_day: 2.5 } }'
    const digest = `sha256:${'a'.repeat(64)}`
    const { keys, path, dir } = await makeKeys(
      `keys:\n  - { name: old, digest: "${digest}", scopes: [run], expires: 2020-01-31 }\ntenants:\n${tenants}\n`,
    )
    const limits = ['--limit', 'requests_per_minute=60', '--limit', 'cost_per_day=0.5']
    const more = ['--adapter', 'McpApiAdapter', '--agent', 'echo', '--expires', '2030-01-31']
    expect((await keys('add', 'ci', '--tenant', 'acme', ...limits, ...more)).exitCode).to.equal(0)
    const [, ci] = (await readKeysFile(path, dir)).keys
    expect(ci?.principal.limits).to.deep.equal({ requests_per_minute: 60, cost_per_day: 0.5 })
    const lines = (await keys('list')).stdout.split('\n')
    expect(lines.map((line) => line.replace(/ +\w+\.\.\.$/, ''))).to.deep.equal([
      'NAME  TENANT  SCOPES  ADAPTERS       AGENTS  LIMITS                                    EXPIRES               DIGEST',
      'old   -       run     all            all     none                                      2020-01-31 (expired)',
      'ci    acme    run     McpApiAdapter  echo    requests_per_minute=60, cost_per_day=0.5  2030-01-31',
      '',
      'TENANT  LIMITS OF ALL ITS KEYS TOGETHER',
      'acme    tokens_per_day=2000000, cost_per_day=2.5',
      '',
    ])
  })

  it('add: refuses what is no limit, and a limit that servers would not read', async () => {
    const { keys, path } = await makeKeys()
    for (const limit of ['requests=60', 'requests_per_minute', 'requests_per_minute=many', 'concurrent_runs=-1']) {
      const { exitCode, stderr } = await keys('add', 'ci', '--limit', limit)
      expect([exitCode, stderr]).to.deep.equal([
        2,
        `Error: --limit: '${limit}' is no limit.\n` +
          '  Write one of requests_per_minute, concurrent_runs, tokens_per_day, cost_per_day, and its number: requests_per_minute=60.\n',
      ])
    }
    const { exitCode, stderr } = await keys('add', 'ci', '--limit', 'concurrent_runs=1.5')
    expect([exitCode, stderr.split('\n')[0]]).to.deep.equal([
      1,
      'Error: keys.yml:2:125: keys[0].limits.concurrent_runs must be a whole number of at least 1.',
    ])
    expect(existsSync(path)).to.equal(false)
  })

  it('add: changes nothing when servers would not read the file', async () => {
    const { keys, text } = await makeKeys()
    await keys('add', 'ada', '--tenant', 'acme')
    const before = await text()
    for (const [args, problem] of [
      [['add', 'no name'], 'keys[1].name must match'],
      [['add', 'ada'], "Another key of 'ada' has another tenant, or other scopes, agents or limits."],
      [['add', 'bob', '--expires', 'soon'], 'keys[1].expires must match'],
    ] as const) {
      const { exitCode, stderr, stdout } = await keys(...args)
      expect([exitCode, stdout, stderr.includes(problem)], stderr).to.deep.equal([1, '', true])
      expect(await text()).to.equal(before)
    }
  })

  it('revoke: takes out all keys of a name', async () => {
    const { keys, text, path, dir } = await makeKeys()
    for (const name of ['ada', 'bob', 'ada']) await keys('add', name)
    const { exitCode, stdout } = await keys('revoke', 'ada')
    expect([exitCode, stdout]).to.deep.equal([0, "2 keys of 'ada' will be refused within two seconds.\n"])
    expect((await readKeysFile(path, dir)).keys.map(({ principal }) => principal.name)).to.deep.equal(['bob'])
    expect((await keys('revoke', 'boob')).stderr).to.contain("Did you mean 'bob'?")
    const before = await text()
    const last = await keys('revoke', 'bob')
    expect([last.exitCode, last.stderr.includes('which may not be empty')]).to.deep.equal([1, true])
    expect(await text()).to.equal(before)
  })

  it('revoke: takes out a key whose name is an alias', async () => {
    const digest = (character: string) => `digest: "sha256:${character.repeat(64)}", scopes: [run]`
    const { keys, path, dir } = await makeKeys(
      `keys:\n  - { name: bob, tenant: &acme acme, ${digest('a')} }\n  - { name: *acme, ${digest('b')} }\n  - { name: acme, ${digest('c')} }\n`,
    )
    const { exitCode, stdout } = await keys('revoke', 'acme')
    expect([exitCode, stdout]).to.deep.equal([0, "2 keys of 'acme' will be refused within two seconds.\n"])
    expect((await readKeysFile(path, dir)).keys.map(({ principal }) => principal.name)).to.deep.equal(['bob'])
  })

  it('writes through a link, and keeps it', async () => {
    const { keys, path, dir } = await makeKeys()
    await keys('add', 'ada')
    await rename(path, join(dir, 'real.yml'))
    await symlink('real.yml', path)
    await keys('add', 'bob')
    expect((await lstat(path)).isSymbolicLink()).to.equal(true)
    expect((await readKeysFile(path, dir)).keys.map(({ principal }) => principal.name)).to.deep.equal(['ada', 'bob'])
  })

  it('leaves the file to its owner and group: the user of the server reads it', async function () {
    if (process.getuid?.() !== 0) this.skip()
    const { keys, path } = await makeKeys()
    for (const name of ['ada', 'bob']) await keys('add', name)
    await chown(path, 1234, 2345)
    await chmod(path, 0o640)
    for (const args of [
      ['add', 'eve'],
      ['revoke', 'bob'],
    ]) {
      expect((await keys(...args)).exitCode).to.equal(0)
      const { uid, gid, mode } = await stat(path)
      expect([uid, gid, mode & 0o777]).to.deep.equal([1234, 2345, 0o640])
    }
  })

  it('changes nothing in a file that another command has changed meanwhile', async () => {
    const { keys, path, text } = await makeKeys()
    for (const name of ['ada', 'eve']) await keys('add', name)
    const document = await KeysDocument.open(path)
    await keys('add', 'bob')
    const before = await text()
    document.remove('ada')
    const error = await document.save().catch((thrown) => thrown)
    expect(error.message).to.equal('keys.yml has changed meanwhile. Nothing was written.')
    expect(await text()).to.equal(before)
  })

  it('leaves the file alone where the disk is full', async () => {
    const { dir, path, keys, text } = await makeKeys()
    await keys('add', 'ci')
    const before = `# ${'x'.repeat(20_000)}\n${await text()}`
    await writeFile(path, before)
    const full = await runCli(['keys', 'add', 'alice'], { cwd: dir, runtime: withFileLimit(before.length) })
    expect([full.exitCode, full.stdout]).to.deep.equal([1, ''])
    expect(await text()).to.equal(before)
    expect((await readdir(dir)).sort()).to.deep.equal(['agents', 'keys.yml'])
  })

  it('names the file that is none, such as a named pipe', async function () {
    if (process.platform === 'win32') this.skip()
    const { keys, path } = await makeKeys()
    execFileSync('mkfifo', [path])
    for (const args of [['list'], ['add', 'ci'], ['revoke', 'ci']]) {
      const { stderr, exitCode } = await keys(...args)
      expect([exitCode, stderr.trim()]).to.deep.equal([1, 'Error: keys.yml cannot be read: it is not a regular file.'])
    }
  })

  it('list: reads what servers read, also a file in UTF-16', async () => {
    const { keys, path } = await makeKeys()
    const text = `keys:\n  - { name: ada, digest: "sha256:${'a'.repeat(64)}", scopes: [run] }\n`
    await writeFile(path, Buffer.from(`\ufeff${text}`, 'utf16le'))
    expect((await keys('list')).stdout).to.match(/^ada /m)
  })

  it('revoke: exits with 1 for a file that servers do not read', async () => {
    const { keys, path } = await makeKeys()
    await keys('add', 'ada')
    await writeFile(path, 'keys: broken')
    const { exitCode, stderr } = await keys('revoke', 'ada')
    expect([exitCode, stderr.includes('keys.yml:1:1: keys must be an array.')]).to.deep.equal([1, true])
  })
})
