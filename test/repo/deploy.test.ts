import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parse, parseAllDocuments } from 'yaml'
import { SERVER_OPTIONS } from '../../src/server/options/options.ts'
import { chat, closeServers, makeServer } from '../support/server.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8')
const isInstalled = (command: string, flag: string) => spawnSync(command, [flag]).status === 0
const VARIABLES = new Set(Object.values(SERVER_OPTIONS).map(({ variable }) => variable))

/** Skipped where the tool is missing. */
const itBy = (command: string, flag: string, title: string, test: () => unknown) =>
  isInstalled(command, flag) ? it(title, test) : it.skip(`${title} (skipped: ${command} is not installed)`, test)

describe('the files in deploy/', () => {
  afterEach(closeServers)

  itBy('systemd-analyze', '--version', 'have a unit that can be enabled, and is exposed by 3 at most', () => {
    const unit = join(DEPLOY, 'agent-host.service')
    const rated = execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=30', unit], {
      encoding: 'utf8',
    })
    expect(rated).to.match(/Overall exposure level for agent-host\.service: [0-3]\.\d OK/)
    const text = read('agent-host.service')
    for (const line of ['User=agents', 'NoNewPrivileges=true', 'ProtectSystem=strict', 'WantedBy=multi-user.target']) {
      expect(text.split('\n')).to.include(line)
    }
    expect(text).to.match(/^ReadWritePaths=.*responses.*memory.*debug$/m)
  })

  itBy('nginx', '-v', 'have a configuration of nginx that it takes, with TLS and without', () => {
    const dir = mkdtempSync(join(tmpdir(), 'agent-host-test-nginx-'))
    try {
      const certificate = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '1']
      const files = ['-keyout', join(dir, 'privkey.pem'), '-out', join(dir, 'fullchain.pem')]
      execFileSync('openssl', ['req', ...certificate, ...files], { stdio: 'ignore' })
      const own = read('nginx.conf')
        .replace(/^resolver .*$/m, '')
        .replace('server agents:8000 resolve;', 'server 127.0.0.1:1;')
        .replaceAll('/etc/nginx/agent-host', join(dir, 'more'))
      for (const name of ['logs', 'more']) mkdirSync(join(dir, name))
      const check = () => {
        writeFileSync(join(dir, 'nginx.conf'), `pid ${dir}/pid;\nevents {}\nhttp {\n${own}\n}\n`)
        execFileSync('nginx', ['-t', '-p', dir, '-e', join(dir, 'logs/error.log'), '-c', 'nginx.conf'], {
          stdio: 'pipe',
        })
      }
      check()
      writeFileSync(join(dir, 'more/tls.conf'), read('tls.conf').replaceAll('/etc/nginx/certs', dir))
      check()
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })

  it('have services of compose whose logs have a limit, and variables that there are', () => {
    const { services, volumes } = parse(read('compose.yml'), { merge: true })
    for (const { logging } of Object.values<{ logging: object }>(services)) {
      expect(logging).to.deep.include({ options: { 'max-size': '20m', 'max-file': '5' } })
    }
    expect(volumes).to.have.keys(['postgres'])
    const named = Object.keys(services.agents.environment).filter((name) => name.startsWith('AGENT_HOST_'))
    expect(named.filter((name) => !VARIABLES.has(name))).to.deep.equal([])
  })

  it('have a manifest of Kubernetes without rights, whose volumes are those that it mounts', () => {
    const documents = parseAllDocuments(read('kubernetes.yml')).map((document) => document.toJS())
    expect(documents.map(({ kind }) => kind)).to.deep.equal(['PersistentVolumeClaim', 'Deployment', 'Service'])
    const { securityContext, containers, volumes } = documents[1].spec.template.spec
    const [container] = containers
    expect(securityContext).to.deep.include({ runAsNonRoot: true, runAsUser: 1000 })
    expect(container.securityContext).to.deep.equal({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container.livenessProbe.httpGet.path).to.equal('/healthz')
    expect(container.readinessProbe.httpGet.path).to.equal('/readyz')
    const mounted = new Set(container.volumeMounts.map(({ name }: { name: string }) => name))
    expect([...mounted].sort()).to.deep.equal(volumes.map(({ name }: { name: string }) => name).sort())
    const named = container.env.map(({ name }: { name: string }) => name)
    expect(named.filter((name: string) => !VARIABLES.has(name))).to.deep.equal([])
  })

  it('have rules and a board for metrics that a server has', async () => {
    const adapters = ['ChatCompatApiAdapter', 'ResponsesCompatApiAdapter']
    const { app } = await makeServer({ metrics: true, adapters })
    await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: chat('model', 'hi') })
    await app.inject({ method: 'POST', url: '/v1/responses', payload: { model: 'echo', input: 'hi' } })
    const shown = (await app.inject('/metrics')).body
    const { groups } = parse(read('alerts.yml'))
    const { panels } = JSON.parse(read('grafana.json'))
    const asked = [...groups[0].rules.map(({ expr }: { expr: string }) => expr), ...panels.map(JSON.stringify)]
    const names = new Set(asked.join('\n').match(/\b(?:agent_host|process)_\w+/g))
    expect([...names].filter((name) => !shown.includes(name))).to.deep.equal([])
    expect(names.size).to.be.greaterThan(8)
  })
})
