import { expect } from 'chai'
import echo from '../../modules/echo.ts'
import { makeContext, makeRun } from '../support/fake-run.ts'

describe('echo', () => {
  it('repeats the message after its prefix', async () => {
    const said: string[] = []
    const response = {
      respondText: (text: string) => void said.push(text),
      respondReasoning() {},
      respondImage() {},
      respondAudio() {},
      respondFile() {},
      getResponse: () => ({ text: '', attachments: [] }),
    }
    const instance = await echo.create({ response }, { prefix: 'You said: ' }, makeContext())
    await instance.handleText('hello', makeRun())
    expect(said).to.deep.equal(['You said: hello'])
  })
})
