import { expect } from 'chai'
import { isSecretName, makeRedact } from '../../src/trace/redact.ts'

describe('makeRedact', () => {
  it('takes out the values of variables whose names speak of a secret, plain and as JSON writes them', () => {
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

  it('leaves short values alone', () => {
    expect(makeRedact({ API_KEY: 'short' })('a short text')).to.equal('a short text')
  })
})

describe('isSecretName', () => {
  it('reads whole words', () => {
    for (const name of ['API_KEY', 'accessToken', 'client-secret', 'PASSWORD', 'aws_credentials', 'apikey'])
      expect([name, isSecretName(name)]).to.deep.equal([name, true])
    for (const name of ['keyboard', 'MONKEY', 'secretary', 'tokenizer', 'HOME'])
      expect([name, isSecretName(name)]).to.deep.equal([name, false])
  })
})
