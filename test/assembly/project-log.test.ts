import { closeSync, openSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { openLog } from '../../src/assembly/project-log.ts'
import { makeRedact } from '../../src/redaction/redact.ts'
import { eventually } from '../support/eventually.ts'
import { makeProject } from '../support/temp-project.ts'

describe('the log', () => {
  it('has each line for itself where a text names the beginning of a private key', async () => {
    const path = (await makeProject()).path('log.jsonl')
    const fd = openSync(path, 'w')
    const log = await openLog({ logLevel: 'info' }, makeRedact({}), fd as 1)
    log.info({ agent: 'desk' }, 'It begins with -----BEGIN PRIVATE KEY-----, always.')
    log.info('The next line')
    await eventually(() => {
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
      expect(lines.map((line) => JSON.parse(line).msg)).deep.equal([
        'It begins with -----BEGIN PRIVATE KEY-----[redacted]',
        'The next line',
      ])
    }, 3000)
    closeSync(fd)
  })
})
