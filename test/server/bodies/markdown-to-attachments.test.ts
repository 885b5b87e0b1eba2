import { expect } from 'chai'
import type { Attachment } from '../../../src/protocols/message.ts'
import { markdownToAttachments } from '../../../src/server/bodies/markdown-to-attachments.ts'
import { attachmentToMarkdown } from '../../../src/server/replies/attachment-to-markdown.ts'
import { measureCpuTime } from '../../support/cpu-time.ts'

describe('links with data URLs in an earlier answer', () => {
  const dot: Attachment = { mediaType: 'image/png', data: Buffer.from('dot') }
  const note: Attachment = { mediaType: 'text/plain', data: Buffer.from('note'), name: 'a note (1).txt' }
  const plain = ({ text, attachments }: ReturnType<typeof markdownToAttachments>) => ({
    text,
    attachments: attachments.map((one) => ({ ...one, data: Buffer.from(one.data as Uint8Array).toString() })),
  })

  it('are the attachments that were written so', () => {
    const answer = `Here:${attachmentToMarkdown(dot)}and${attachmentToMarkdown(note)}${attachmentToMarkdown(dot)}.`
    expect(plain(markdownToAttachments(answer))).to.deep.equal({
      text: 'Here:and.',
      attachments: [
        { mediaType: 'image/png', data: 'dot' },
        { mediaType: 'text/plain', data: 'note', name: 'a note (1).txt' },
        { mediaType: 'image/png', data: 'dot' },
      ],
    })
  })

  it('stay text where they are none', () => {
    const texts = ['', '[a](https://example.test)', 'x](data:image/png;base64,AA==)', '[a](data:image/png,x)']
    for (const text of [...texts, '![a](data:image/png;base64,AA==', '[a](data:;base64']) {
      expect(markdownToAttachments(text)).to.deep.equal({ text, attachments: [] })
    }
  })

  it('are read in linear time', () => {
    const spentMs = measureCpuTime()
    for (const piece of ['](data:', '[](data:', '[](data:a/b;base64,', '['])
      for (const end of ['', ')']) markdownToAttachments(piece.repeat(200_000) + end)
    expect(spentMs()).to.be.below(10_000)
  })

  it('take no time for millions of beginnings without an end', () => {
    const answer = `[${'](data:'.repeat(6_000_000)}`
    const spentMs = measureCpuTime()
    expect(markdownToAttachments(answer).text).to.have.length(answer.length)
    expect(spentMs()).to.be.below(700)
  })

  it('have the name from the nearest bracket on, of 255 characters at most', () => {
    const link = '](data:image/png;base64,ZG90)'
    expect(plain(markdownToAttachments(`a [b [c]d${link} e`))).to.deep.equal({
      text: 'a [b  e',
      attachments: [{ mediaType: 'image/png', data: 'dot', name: 'c]d' }],
    })
    for (const [length, count] of [
      [255, 1],
      [256, 0],
    ] as const) {
      const answer = `[${'n'.repeat(length)}${link}`
      expect([length, markdownToAttachments(answer).attachments.length]).to.deep.equal([length, count])
    }
    const other = `[](data:image/png,x)${link}`
    expect(plain(markdownToAttachments(other)).attachments).to.deep.equal([
      { mediaType: 'image/png', data: 'dot', name: '](data:image/png,x)' },
    ])
  })
})
