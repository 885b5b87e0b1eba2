import { expect } from 'chai'
import { highlight } from '../../../ui/src/components/highlight.ts'

describe('the colours of YAML', () => {
  /** Texts of a class of the highlighted code. */
  const marked = (code: string, name: string) =>
    [...highlight(code, 'yaml').matchAll(/<span class="hljs-([a-z]+)">([^<]*)<\/span>/g)].flatMap(
      ([, each, text = '']) => (each === name ? [text.trim()] : []),
    )

  it('take no word of a name or a title for a value', () => {
    expect(marked('id: no-cards\ntitle: No cards\nm: { id: on-call, a: yes }', 'literal')).deep.equal([])
    expect(marked('a: true\nb: { c: false, d: [null, ~] }\ne:\n  - true', 'literal')).deep.equal([
      'true',
      'false',
      'null',
      '~',
      'true',
    ])
  })

  it('take no line of a text for a key, in any of its paragraphs', () => {
    const prompt = 'system_prompt: |\n  Be short.\n\n  Note: stay kind.\n\nmodel: m\nlast: >-\n  Key: value'
    expect(marked(prompt, 'attr')).deep.equal(['system_prompt:', 'model:', 'last:'])
  })
})
