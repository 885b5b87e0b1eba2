import { AgentHost, type Attachment } from 'agent-host'
import { expect } from 'chai'
import { makeProject } from '../support/temp-project.ts'

const MODULES = {
  'modules/viewer.ts': `import { defineModule, ImageMessageHandler, Response, TextMessageHandler } from 'agent-host'
export default defineModule({ name: 'Viewer', attachments: ['audio/*'], provides: [ImageMessageHandler, TextMessageHandler], uses: { response: Response },
  create: ({ response }) => ({
    handleImage: (image) => response.respondText('image ' + image.name + ', '),
    handleText: (text) => response.respondText('text ' + text) }) })`,
}
const picture = (name: string, mediaType = 'image/png'): Attachment => ({ name, mediaType, data: new Uint8Array([1]) })

describe('a message with attachments', () => {
  let host: AgentHost

  before(async () => {
    const project = await makeProject(MODULES)
    host = new AgentHost({ projectDir: project.dir })
    await host.register({ id: 'viewer', modules: [{ id: 'main', module: 'viewer' }] })
  })
  after(() => host.close())

  const ask = async (content: string, ...attachments: readonly Attachment[]) =>
    (await host.run('viewer', [{ role: 'user', content, attachments }])).text

  it('goes to the handlers of its attachments in their order, then to that of its text', async () => {
    expect(await ask('compare', picture('a'), picture('b'))).equal('image a, image b, text compare')
  })

  it('is handled without a text when every attachment had a handler', async () => {
    expect(await ask('', picture('a'))).equal('image a, ')
  })

  it('goes to the text handler, even without a text, if an attachment has no handler of its own', async () => {
    expect(await ask('', picture('a'), picture('song', 'audio/mpeg'))).equal('image a, text ')
  })
})
