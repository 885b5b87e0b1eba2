// Runs a child as on Windows: with its platform, and with programs that tell how they were called.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const dir = mkdtempSync(join(tmpdir(), 'agent-host-windows-'))
const calls = join(dir, 'calls')
for (const name of ['cmd.exe', 'taskkill']) {
  writeFileSync(
    join(dir, name),
    `#!/bin/sh\necho "${name} $*" >> ${calls}\n[ ${name} = taskkill ] || exec sleep 30\nkill -9 "$2"\n`,
  )
  chmodSync(join(dir, name), 0o755)
}
process.env.comspec = join(dir, 'cmd.exe')
process.env.PATH = `${dir}:${process.env.PATH}`
Object.defineProperty(process, 'platform', { value: 'win32' })

const { LineChild } = await import('../../modules/tools/lib/line-child.ts')
const log = { debug() {}, info() {}, warn() {}, error() {} }
await new Promise<void>((resolve) => {
  const child = new LineChild({
    command: 'npx',
    args: ['-y', 'some-server'],
    cwd: dir,
    env: process.env as Record<string, string>,
    log,
    maxLineChars: 100,
    onLine: () => {},
    onExit: () => resolve(),
  })
  setTimeout(() => child.kill(), 300)
})
const pid = Number(/taskkill \/pid (\d+)/.exec(readFileSync(calls, 'utf8'))?.[1])
process.stdout.write(readFileSync(calls, 'utf8').replaceAll(String(pid), 'PID'))
rmSync(dir, { recursive: true })
