import { expect } from 'chai'
import { isPrivate } from '../../../modules/tools/lib/guarded-fetch.ts'

describe('the guarded fetch', () => {
  it('tells private addresses from public ones, in every notation', () => {
    const hidden = ['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0', '100.64.0.1']
    const hidden6 = [
      '::1',
      '::',
      'fe80::1',
      'fc00::1',
      'fd12::1',
      '::ffff:127.0.0.1',
      '::ffff:a9fe:a9fe',
      '64:ff9b::7f00:1',
    ]
    const open = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8']
    expect([...hidden, ...hidden6].filter((address) => !isPrivate(address))).to.deep.equal([])
    expect(open.filter(isPrivate)).to.deep.equal([])
  })
})
