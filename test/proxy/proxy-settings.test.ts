import { expect } from 'chai'
import { readProxySettings } from '../../src/proxy/proxy-settings.ts'

const proxyOf = (environment: NodeJS.ProcessEnv, address: string): string | undefined =>
  readProxySettings(environment)?.proxyFor(new URL(address))?.origin

describe('proxies of the environment', () => {
  it('are none without a variable, or with empty ones', () => {
    expect(readProxySettings({})).to.equal(undefined)
    expect(readProxySettings({ HTTP_PROXY: '', https_proxy: ' ', NO_PROXY: '*' })).to.equal(undefined)
  })

  it('belong to the scheme of an address; lower case comes first, and the scheme of a proxy may be missing', () => {
    const both = { HTTP_PROXY: 'http://upper:1', http_proxy: 'lower:2', HTTPS_PROXY: 'https://user:p%23@tls' }
    expect(proxyOf(both, 'http://a.example/')).to.equal('http://lower:2')
    expect(proxyOf(both, 'https://a.example/')).to.equal('https://tls')
    expect(proxyOf({ HTTP_PROXY: 'http://one:1' }, 'https://a.example/')).to.equal(undefined)
  })

  it('are never asked for loopback, nor for themselves', () => {
    const environment = { HTTP_PROXY: 'http://proxy:3128' }
    const hosts = ['localhost:1', 'a.localhost', '127.0.0.1', '127.9.9.9:8', '[::1]:3', '[::ffff:127.0.0.1]', '0.0.0.0']
    for (const host of [...hosts, 'LOCALHOST.', 'proxy:3128'])
      expect([host, proxyOf(environment, `http://${host}/`)]).to.deep.equal([host, undefined])
    expect(proxyOf(environment, 'http://localhost.example/')).to.equal('http://proxy:3128')
  })

  const exceptions: [noProxy: string, direct: string[], proxied: string[]][] = [
    ['*', ['a.example', '8.8.8.8'], []],
    ['a.example', ['a.example', 'x.a.example', 'A.Example.'], ['b.example', 'ba.example']],
    ['.a.example *.b.example', ['a.example', 'x.a.example', 'x.b.example'], ['xa.example']],
    ['x.example, a.example:81', ['a.example:81', 'x.example:9'], ['a.example', 'a.example:8']],
    ['a.example:80', ['a.example'], ['a.example:81']],
    ['10.0.0.0/8,192.168.1.7', ['10.1.2.3', '192.168.1.7'], ['11.0.0.1', '192.168.1.8', '10.example']],
    ['[fd00::1]:81 fe80::2 fd12::/16', ['[fd00::1]:81', '[fe80::2]', '[fd12::9]'], ['[fd00::1]', '[fe80::3]']],
    ['10.0.0.0/99, /, :, .', [], ['10.0.0.1', 'a.example']],
  ]
  for (const [noProxy, direct, proxied] of exceptions) {
    it(`leave out what NO_PROXY lists: ${noProxy}`, () => {
      const environment = { http_proxy: 'http://proxy:1', NO_PROXY: noProxy }
      for (const host of direct)
        expect([host, proxyOf(environment, `http://${host}/`)]).to.deep.equal([host, undefined])
      for (const host of proxied)
        expect([host, proxyOf(environment, `http://${host}/`)]).to.deep.equal([host, 'http://proxy:1'])
    })
  }

  it('are described without user and password', () => {
    const environment = { HTTP_PROXY: 'http://me:canary@proxy:1', HTTPS_PROXY: 'proxy:2', NO_PROXY: 'a.example' }
    expect(readProxySettings(environment)?.description).to.equal(
      'http://proxy:1 (HTTP_PROXY), http://proxy:2 (HTTPS_PROXY), but not to a.example (NO_PROXY)',
    )
  })

  it('of other kinds are refused without showing them', () => {
    for (const value of [
      'socks5://canary:1',
      'http://u:can#ary@proxy',
      'http://u:can/ary@proxy',
      'u:%canary@proxy',
      'canary proxy',
    ]) {
      expect(() => readProxySettings({ HTTPS_PROXY: value }))
        .to.throw('HTTPS_PROXY must be an address like http://proxy.example:3128.')
        .with.property('message')
        .that.does.not.contain('can')
    }
  })
})
