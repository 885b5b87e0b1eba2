import { expect } from 'chai'
import { readDataUrl } from '../src/data-url.ts'
import { measureCpuTime } from './support/cpu-time.ts'

describe('a data URL', () => {
  const read = (url: string) => {
    const { mediaType, data } = readDataUrl(url) ?? {}
    return data && [mediaType, Buffer.from(data).toString()]
  }

  it('has a media type, parameters and bytes in base64', () => {
    expect(read('data:image/PNG;base64,ZG90')).to.deep.equal(['image/png', 'dot'])
    expect(read('data:text/html;charset=utf-8;BASE64,ZG90')).to.deep.equal(['text/html', 'dot'])
    expect(read('data:;base64,ZG90')).to.deep.equal(['text/plain', 'dot'])
    for (const url of [
      'data:image/png,ZG90',
      'data:base64,ZG90',
      'data:a/b;base64;x,ZG90',
      'data:a/b;base64',
      'x:;base64,',
    ])
      expect(read(url), url).to.equal(undefined)
  })

  it('of millions of parameters is read as fast as any other', () => {
    const url = `data:${';'.repeat(10_000_000)},ZG90`
    const spentMs = measureCpuTime()
    expect(read(url)).to.equal(undefined)
    expect(spentMs()).to.be.below(200)
  })
})
