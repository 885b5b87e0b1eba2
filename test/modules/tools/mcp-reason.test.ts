import { expect } from 'chai'
import { isUnreachable, reasonOf } from '../../../modules/tools/lib/mcp/reason.ts'
import { needsSignIn, SignInNeeded } from '../../../modules/tools/lib/mcp/sign-in.ts'

function circle(first: Error, second: Error): Error {
  first.cause = second
  second.cause = first
  return first
}

describe('the reason why an MCP server cannot be used', () => {
  it('is found in causes that form a circle, too', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const error = circle(new TypeError('fetch failed'), refused)
    expect([isUnreachable(error), needsSignIn(error), reasonOf(error)]).to.deep.equal([true, false, refused.message])
    expect(needsSignIn(circle(new Error('it failed'), new SignInNeeded('shop')))).to.equal(true)
    expect(reasonOf(circle(new TypeError('fetch failed'), new Error('no route')))).to.equal('no route')
  })
})
