import { expect } from 'chai'
import { makeRedact } from '../../src/redaction/redact.ts'
import { isSecretName } from '../../src/redaction/secret-name.ts'
import { measureCpuTime } from '../support/cpu-time.ts'

describe('makeRedact', () => {
  it('redacts values of variables with secret names, plain and JSON-encoded', () => {
    const redact = makeRedact({
      OPENAI_API_KEY: 'sk-12345678',
      DB_PASSWORD: 'pa"ss\\word',
      LONG_TOKEN: 'sk-12345678-long',
      HOME: '/home/ada-lovelace',
    })
    expect(redact('a sk-12345678 b sk-12345678-long c pa"ss\\word d pa\\"ss\\\\word e /home/ada-lovelace')).to.equal(
      'a [redacted] b [redacted] c [redacted] d [redacted] e /home/ada-lovelace',
    )
  })

  it('recognizes secrets by their format', () => {
    const redact = makeRedact({})
    for (const [text, shown] of [
      ['postgres://ada:hunter2@db.example/app', 'postgres://[redacted]@db.example/app'],
      ['authorization: Bearer abcdef123', 'authorization: Bearer [redacted]'],
      [`a sk-${'a1'.repeat(12)}.`, 'a [redacted].'],
      [`ghp_${'a1'.repeat(18)} AKIA${'A1'.repeat(8)}`, '[redacted] [redacted]'],
      ['authorization: Basic YWRhOnR1bGlwcw==', 'authorization: Basic [redacted]'],
      [
        'Basic authentication, basic training and a basic understanding',
        'Basic authentication, basic training and a basic understanding',
      ],
      ['http://h/?code=abc-1&iss=x&state=st', 'http://h/?code=[redacted]&iss=x&state=st'],
      ['state=st&iss=x&code=abc-1', 'state=st&iss=x&code=[redacted]'],
      ['http://shop/?code=4711 in the state=open', 'http://shop/?code=4711 in the state=open'],
      ['start --api-key=abcd --token x1y2 --name ada', 'start --api-key=[redacted] --token [redacted] --name ada'],
      ['["--password","hunter2"]', '["--password","[redacted]"]'],
      ['http://h/?q=a&access_token=abcd&b=c', 'http://h/?q=a&access_token=[redacted]&b=c'],
      [
        '-----BEGIN RSA PRIVATE KEY-----\\nDEK-Info: AES-128\\nMIIE\\n-----END',
        '-----BEGIN RSA PRIVATE KEY-----[redacted]-----END',
      ],
    ])
      expect(redact(text as string)).to.equal(shown)
  })

  it('recognizes them where lines of a text begin, in JSON too', () => {
    const redact = makeRedact({})
    const key = `sk-${'a1'.repeat(12)}`
    const text = `--token x1y2z3\n${key}\n\t${key}\nBearer abcdef123\nBasic YWRhOnR1bGlw\n--api-key abcd1`
    const shown =
      '--token [redacted]\n[redacted]\n\t[redacted]\nBearer [redacted]\nBasic [redacted]\n--api-key [redacted]'
    expect(redact(text)).to.equal(shown)
    expect(JSON.parse(redact(JSON.stringify([text, 'one-sk']))) as unknown).to.deep.equal([shown, 'one-sk'])
  })

  it('hides no more of JSON than the text of a private key, also without its end, or the list of its lines', () => {
    const redact = makeRedact({})
    const [begin, end] = ['-----BEGIN RSA PRIVATE KEY-----', '-----END RSA PRIVATE KEY-----']
    for (const [value, shown] of [
      [
        { text: `What is "${begin}"?\\`, 'a "key"': end },
        { text: `What is "${begin}[redacted]`, 'a "key"': end },
      ],
      [
        { text: `${begin}\nMIIE\n${end}`, id: 7 },
        { text: `${begin}[redacted]${end}`, id: 7 },
      ],
      [{ lines: [begin, 'MIIE', 'abcd', end, 'after'] }, { lines: [`${begin}[redacted]${end}`, 'after'] }],
    ])
      expect(JSON.parse(redact(JSON.stringify(value)))).to.deep.equal(shown)
    expect(redact(`key = "${begin}\\n" +\n  "MIIE\\n" +\n  "${end}"`)).to.equal(`key = "${begin}[redacted]${end}"`)
  })

  it('redacts a value in JSON of JSON, in an address, and without the newline of its file', () => {
    const redact = makeRedact({ STORE_KEY: 'a+b/c"d==', FILE_TOKEN: 'tulips-4711\n' })
    const sent = JSON.stringify({ text: JSON.stringify({ key: 'a+b/c"d==' }), url: '?sig=a%2Bb%2Fc%22d%3D%3D' })
    expect(redact(sent)).to.equal('{"text":"{\\"key\\":\\"[redacted]\\"}","url":"?sig=[redacted]"}')
    expect(redact('Wrong token: tulips-4711.')).to.equal('Wrong token: [redacted].')
  })

  it('redacts a user and a password as they are sent, too', () => {
    const redact = makeRedact({ SHOP_SECRET: 'ada:tulips-4711' })
    expect(redact('sent YWRhOnR1bGlwcy00NzEx and ada:tulips-4711')).to.equal('sent [redacted] and [redacted]')
  })

  it('redacts the password of a URL in any variable, even on its own', () => {
    const redact = makeRedact({
      DATABASE_URL: 'postgres://ada:hunter%2F2222@db/app',
      STORE: 'redis+sentinel://ada:tulips-4711@one:26379,two:26379/0?master=agents',
      SITE: 'https://example.org',
    })
    expect(redact('wrong password tulips-4711')).to.equal('wrong password [redacted]')
    expect(redact('wrong password hunter/2222 or hunter%2F2222 at https://example.org')).to.equal(
      'wrong password [redacted] or [redacted] at https://example.org',
    )
  })

  it('takes linear time', () => {
    const redact = makeRedact({})
    const spentMs = measureCpuTime()
    for (const piece of [
      '://a',
      'Bearer a',
      'sk-',
      'eyJaaaaaaaaaaaa.',
      'Basic aaaa',
      'code=a&',
      'state=a&code=b&',
      'state=a',
      '-----BEGIN PRIVATE KEY-----',
      '-----BEGIN PRIVATE KEY-----","',
      '--key ',
      '?a',
      '-',
    ])
      redact(piece.repeat(1_000_000 / piece.length))
    // Repetitions without a bound would use up the stack.
    expect(redact(`Bearer ${'a'.repeat(10_000_000)}`)).to.match(/^Bearer \[redacted\]a/)
    expect(spentMs()).to.be.lessThan(2000)
  })

  it('leaves prose, addresses and folders alone', () => {
    const redact = makeRedact({ PWD: '/home/ada/project' })
    for (const text of [
      'Bearer authentication is required',
      'Choose another with --api-key or --token <token>',
      'http://localhost:9001/ui ada@example.org',
      '/home/ada/project/agents',
    ])
      expect(redact(text)).to.equal(text)
  })

  it('leaves short values alone', () => {
    expect(makeRedact({ API_KEY: 'short' })('a short text')).to.equal('a short text')
  })
})

describe('isSecretName', () => {
  it('reads whole words', () => {
    for (const name of [
      'API_KEY',
      'accessToken',
      'client-secret',
      'PASSWORD',
      'aws_credentials',
      'apikey',
      'GITHUB_PAT',
      'DB_PASS',
      'MYSQL_PWD',
      'PASSPHRASE',
      'sessionCookie',
      'SENTRY_DSN',
    ])
      expect([name, isSecretName(name)]).to.deep.equal([name, true])
    for (const name of ['keyboard', 'MONKEY', 'secretary', 'tokenizer', 'HOME', 'PATH', 'bypass', 'pattern'])
      expect([name, isSecretName(name)]).to.deep.equal([name, false])
  })
})
