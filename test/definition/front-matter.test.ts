import { readFrontMatter } from 'agent-host'
import { expect } from 'chai'

const read = (text: string) => readFrontMatter(text, 'x/SKILL.md')
const problemOf = (text: string): string => {
  try {
    read(text)
    return 'It was read.'
  } catch (error) {
    return (error as Error).message
  }
}

describe('front matter', () => {
  it('is the YAML between two fences, and the text is what follows', () => {
    const { data, text, textLine, lineOf } = read('---\nname: a\nmore:\n  b: 1\n---\n\n# Title\n---\nend')
    expect(data).to.deep.equal({ name: 'a', more: { b: 1 } })
    expect(text).to.equal('\n# Title\n---\nend')
    expect(textLine).to.equal(6)
    expect([lineOf('name'), lineOf('more'), lineOf('missing')]).to.deep.equal([2, 3, 2])
  })

  it('may have line ends of Windows, a byte order mark, and no text below', () => {
    expect(read('\uFEFF---\r\nname: a\r\n---\r\nText')).to.deep.include({ data: { name: 'a' }, text: 'Text' })
    expect(read('---\nname: a\n---')).to.deep.include({ data: { name: 'a' }, text: '' })
  })

  it('is refused with file, line and reason where there is none, or none that can be read', () => {
    expect(problemOf('# Title')).to.equal('x/SKILL.md:1: the file does not begin with front matter.')
    expect(problemOf('---\nname: a\n')).to.equal('x/SKILL.md:1: the file does not begin with front matter.')
    expect(problemOf('---\n---\n')).to.match(/^x\/SKILL\.md:1: the front matter must be a map/)
    expect(problemOf('---\na: 1\nb: [\n---\n')).to.match(/^x\/SKILL\.md:[34]: The YAML cannot be read/)
    expect(problemOf('---\na: 1\na: 2\n---\n')).to.equal("x/SKILL.md:3: The key 'a' appears a second time.")
  })
})
