import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'

const COMPLETIONS = '/compat/chat/completions'
type Server = Awaited<ReturnType<typeof makeServer>>

const ask = (server: Server, model: string, content: string, more?: object) =>
  server.app.inject({ method: 'POST', url: COMPLETIONS, payload: chat(model, content, more) })

/** Every line of the exposition, by name and labels; what is not of the format is refused. */
async function readMetrics({ app }: Server): Promise<Record<string, number>> {
  const { body, headers, statusCode } = await app.inject({ url: '/metrics' })
  expect([statusCode, headers['content-type']]).to.deep.equal([200, 'text/plain; version=0.0.4; charset=utf-8'])
  const lines = body.split('\n').filter((line) => line !== '' && !/^# (HELP|TYPE) [a-z_\d]+ ./.test(line))
  const values = lines.map((line) => {
    const [, series, value] = /^([a-z_\d]+(?:\{(?:[a-z]+="[^"]*",?)+\})?) (\S+)$/.exec(line) ?? []
    expect(Number(value), line).not.to.be.NaN
    expect(series, line).to.match(/[{,]server="[\w.-]+-\d+"/)
    return [series?.replace(/,server="[^"]*"|server="[^"]*",?/, '').replace('{}', ''), Number(value)]
  })
  return Object.fromEntries(values)
}

const about = (metrics: Record<string, number>, prefix: string) =>
  Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith(prefix)))

describe('metrics', () => {
  afterEach(closeServers)

  it('are served only with --metrics', async () => {
    const response = await (await makeServer()).app.inject({ url: '/metrics' })
    expect([response.statusCode, response.json()]).to.deep.equal([404, { detail: 'Not Found' }])
    await readMetrics(await makeServer({ metrics: true }))
  })

  it('count runs by status and duration', async () => {
    const server = await makeServer({ metrics: true })
    await ask(server, 'echo', 'hi')
    await ask(server, 'echo', 'hi')
    await ask(server, 'probe', 'fail now')
    const run = server.host.run('probe', 'deaf', { signal: AbortSignal.timeout(30) }).catch(({ code }) => code)
    expect(await run).to.equal('RUN_ABORTED')
    const metrics = await readMetrics(server)
    expect(about(metrics, 'agent_host_runs_total')).to.deep.equal({
      'agent_host_runs_total{agent="echo",status="completed"}': 2,
      'agent_host_runs_total{agent="probe",status="failed"}': 1,
      'agent_host_runs_total{agent="probe",status="cancelled"}': 1,
    })
    expect(metrics['agent_host_run_duration_seconds_count{agent="probe"}']).to.equal(2)
    expect(metrics['agent_host_run_duration_seconds_bucket{le="+Inf",agent="echo"}']).to.equal(2)
    expect(metrics['agent_host_run_duration_seconds_sum{agent="probe"}']).to.be.within(0.02, 1)
  })

  it('count runs that wait, those that handed a call to their client, and incomplete answers', async () => {
    const replies = '[{ tool_calls: [{ name: pay, arguments: {} }] }]'
    const server = await makeServer(
      { metrics: true },
      {
        'agents/payer.yml': `id: payer
modules:
  - { id: llm, module: llm/mock, config: { replies: ${replies} } }
  - { id: tools, module: tools/local, config: { files: [tools/pay.ts], approval: always } }
  - { id: loop, module: orchestrator/tool-loop }`,
        'agents/caller.yml': `id: caller
modules:
  - { id: llm, module: llm/mock, config: { replies: ${replies} } }
  - { id: loop, module: orchestrator/tool-loop }`,
        'agents/short.yml': `id: short
modules:
  - { id: llm, module: llm/mock, config: { replies: [{ text: one two, finish: length }] } }
  - { id: loop, module: orchestrator/tool-loop }`,
        'tools/pay.ts': `import { defineTool, Type } from 'agent-host'
export const pay = defineTool({ description: 'Pays.', parameters: Type.Object({}), execute: () => 'paid' })`,
      },
    )
    const clientTools = [{ name: 'pay', description: 'Pays.', parameters: { type: 'object' } }]
    await server.host.run('payer', 'hi')
    await server.host.run('caller', 'hi', { clientTools })
    await server.host.run('short', 'hi')
    expect(about(await readMetrics(server), 'agent_host_runs_total')).to.deep.equal({
      'agent_host_runs_total{agent="payer",status="waiting"}': 1,
      'agent_host_runs_total{agent="caller",status="handed_to_client"}': 1,
      'agent_host_runs_total{agent="short",status="completed",incomplete="max_output_tokens"}': 1,
    })
    server.host.unregister('short')
    expect(Object.keys(about(await readMetrics(server), 'agent_host_runs_total'))).to.have.length(2)
  })

  it('count incomplete answers with reasons without end in few series', async () => {
    const server = await makeServer(
      { metrics: true },
      {
        'agents/partial.yml': 'id: partial\nmodules: [{ id: main, module: partial }]',
        'modules/partial.ts': `import { defineModule, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Partial', provides: [TextMessageHandler], create: () => ({
  async handleText(text, run) { if (text !== '') run.markIncomplete(text) } }) })`,
      },
    )
    for (let page = 0; page < 150; page++) await server.host.run('partial', `stopped at page ${page}`)
    for (const text of ['', 'stopped at page 0']) await server.host.run('partial', text)
    const series = about(await readMetrics(server), 'agent_host_runs_total')
    const name = (incomplete: string) => `agent_host_runs_total{agent="partial",status="completed"${incomplete}}`
    expect(Object.keys(series)).to.have.length(102)
    expect(
      ['', ',incomplete="stopped at page 0"', ',incomplete="other"'].map((more) => series[name(more)]),
    ).to.deep.equal([1, 2, 50])
  })

  it('count tokens by kind', async () => {
    const server = await makeServer({ metrics: true })
    await ask(server, 'model', 'hi')
    await ask(server, 'model', 'hi')
    expect(about(await readMetrics(server), 'agent_host_tokens_total')).to.deep.equal({
      'agent_host_tokens_total{agent="model",kind="input"}': 6,
      'agent_host_tokens_total{agent="model",kind="output"}': 4,
    })
  })

  it('show work in progress', async () => {
    const server = await makeServer({ metrics: true })
    const url = await server.listen()
    const now = async () => about(await readMetrics(server), 'agent_host_')
    const idle = {
      agent_host_agents: 4,
      agent_host_event_streams_open: 0,
      agent_host_runs_in_progress: 0,
    }
    expect(await now()).to.deep.equal(idle)
    const abort = new AbortController()
    const streaming = await fetch(url + COMPLETIONS, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chat('probe', 'wait 60000', { stream: true })),
      signal: abort.signal,
    })
    await streaming.body?.getReader().read()
    expect(await now()).to.deep.equal({ ...idle, agent_host_event_streams_open: 1, agent_host_runs_in_progress: 1 })
    abort.abort()
    await eventually(async () => expect(await now()).to.include({ ...idle }))
  })

  it('drop an agent that is unregistered', async () => {
    const server = await makeServer({ metrics: true })
    await ask(server, 'echo', 'hi')
    await ask(server, 'model', 'hi')
    server.host.unregister('model')
    const shown = Object.keys(about(await readMetrics(server), 'agent_host_')).join('\n')
    expect(shown).to.contain('agent="echo"').and.not.to.contain('agent="model"')
  })

  it('report the process and the lag of its event loop', async () => {
    const server = await makeServer({ metrics: true })
    await readMetrics(server)
    // The first tick after a look only begins the next measure.
    await setTimeout(100)
    const sinceMs = performance.now()
    const until = sinceMs + 200
    while (performance.now() < until);
    await setTimeout(50)
    const metrics = await readMetrics(server)
    // On a machine that is shared the process may have to wait longer, but never longer than all this took.
    const longest = (performance.now() - sinceMs) / 1000
    expect(metrics.nodejs_eventloop_lag_max_seconds).to.be.within(0.18, longest)
    expect(metrics.nodejs_eventloop_lag_mean_seconds).to.be.within(0, longest / 2)
    expect(metrics.nodejs_eventloop_lag_p99_seconds).to.be.within(0.01, longest)
    expect(metrics.process_resident_memory_bytes).to.be.within(30e6, 8e9)
    expect(metrics.nodejs_heap_size_used_bytes).to.be.below(metrics.nodejs_heap_size_total_bytes as number)
    expect(metrics.process_cpu_seconds_total).to.be.above(0.2)
    expect(metrics.process_start_time_seconds).to.be.closeTo(performance.timeOrigin / 1000, 1)
  })

  it('wrap no agent: nobody listens to events for them', async () => {
    const server = await makeServer(
      { metrics: true },
      {
        'agents/seen.yml': 'id: seen\nmodules: [{ id: main, module: seen }]',
        'modules/seen.ts': `import { defineModule, Response, TextMessageHandler } from 'agent-host'
          export default defineModule({ name: 'Seen', provides: [TextMessageHandler], uses: { response: Response },
            create: ({ response }) => ({ async handleText() { await response.respondText(response.constructor.name) } }) })`,
      },
    )
    expect((await ask(server, 'seen', 'hi')).json().choices[0].message.content).to.equal('RunResponse')
  })
})
