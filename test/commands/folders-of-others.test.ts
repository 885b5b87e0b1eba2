import { mkdir } from 'node:fs/promises'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { isInstalled } from '../support/it-with.ts'
import { describeOtherUser, makeOthersProject, runAsOther, startAsOther } from '../support/other-user.ts'
import { RUN } from '../support/run-cli.ts'

const AGENT = 'id: hello\nmodules:\n  - { id: main, module: echo }\n'
const SERVE = [RUN, 'serve', '--adapter', 'ChatCompatApiAdapter', '--port', '0']

function addressIn(output: string): string {
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
  if (url === undefined) throw new Error(`There is no address in the output: ${output}`)
  return url
}

/** Takes all watchers that the user may have, says so, and keeps them. */
const TAKE_WATCHERS = `import ctypes, resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
libc = ctypes.CDLL(None)
while libc.inotify_init() >= 0: pass
print('taken', flush=True)
time.sleep(60)`

describeOtherUser('a folder that the user may not read', () => {
  it('is left out with a warning, and the agents beside it are served', async () => {
    const project = await makeOthersProject({
      'agents/hello.yml': AGENT,
      'agents/deep/other.yml': AGENT.replace('hello', 'other'),
    })
    await mkdir(project.path('agents/lost+found'), { mode: 0o700 })
    await mkdir(project.path('agents/deep/locked'), { mode: 0o700 })
    const { status, stdout, stderr } = runAsOther(['check'], project)
    expect(status).to.equal(0)
    expect(stdout).to.contain('2 agents, 0 problems')
    expect(stderr.match(/agents\/\S+ is left out: it cannot be read: EACCES/g)).to.have.lengthOf(2)

    const server = startAsOther(process.execPath, SERVE, project.dir)
    try {
      const url = await eventually(() => addressIn(server.output()), 20_000)
      // A change of a folder has all of them read again.
      await mkdir(project.path('agents/new'))
      await project.write('agents/new/late.yml', AGENT.replace('hello', 'late'))
      await eventually(async () => expect(await (await fetch(`${url}/compat/models`)).text()).to.contain('late'))
      expect(server.output().match(/lost\+found/g)).to.have.lengthOf(2)
      expect(server.output()).to.not.contain('cannot be watched')
    } finally {
      server.child.kill('SIGKILL')
    }
  })
})

describeOtherUser('a user without watchers left', () => {
  before(function () {
    if (process.platform !== 'linux' || !isInstalled('Python 3.8')) this.skip()
  })

  it('reads once in the log what to set, and is served', async () => {
    const project = await makeOthersProject({ 'agents/hello.yml': AGENT, 'modules/a.ts': '', 'tools/b.ts': '' })
    const taker = startAsOther('python3', ['-c', TAKE_WATCHERS])
    await eventually(() => expect(taker.output()).to.contain('taken'), 20_000)
    const server = startAsOther(process.execPath, SERVE, project.dir)
    try {
      await eventually(() => expect(server.output()).to.contain('listening'), 20_000)
      const told = server.output().match(/Files cannot be watched: .*?"/g)
      expect(told).to.have.lengthOf(1)
      expect(told?.[0]).to.match(/max_user_instances=1024.*CHOKIDAR_USEPOLLING=1/)
    } finally {
      server.child.kill('SIGKILL')
      taker.child.kill('SIGKILL')
    }
  })
})
