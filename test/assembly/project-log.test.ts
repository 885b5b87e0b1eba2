import { closeSync, openSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { openLog } from '../../src/assembly/project-log.ts'
import { makeRedact } from '../../src/redaction/redact.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the log', () => {
  it('has each line for itself where a text names the beginning of a private key, or a number has the digits of a secret', async () => {
    const path = (await makeProject()).path('log.jsonl')
    const fd = openSync(path, 'w')
    const log = await openLog({ logLevel: 'info' }, makeRedact({ DB_PASSWORD: '12345678' }), fd as 1)
    log.info({ agent: 'desk' }, 'It begins with -----BEGIN PRIVATE KEY-----, always.')
    log.info({ order: 123456789 }, 'The next line')
    await eventually(() => {
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
      expect(lines.map((line) => JSON.parse(line)).map(({ msg, order }) => [msg, order])).deep.equal([
        ['It begins with -----BEGIN PRIVATE KEY-----[redacted]', undefined],
        ['The next line', '[redacted]9'],
      ])
    }, 3000)
    closeSync(fd)
  })
})
