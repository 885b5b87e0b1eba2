import { expect } from 'chai'
import type { ChatRequest } from '../../src/server/adapters/chat-compat/schema.ts'
import { toRequestOptions } from '../../src/server/adapters/chat-compat/to-request-options.ts'

describe('the options of a chat request', () => {
  const read = (fields: Partial<ChatRequest>) => toRequestOptions({ model: 'a', messages: [], ...fields })

  it('are those that the client sent', () => {
    expect(read({})).equal(undefined)
    expect(read({ temperature: 0, top_p: null, stop: 'END' })).deep.equal({ temperature: 0, stop: ['END'] })
  })

  it('take the newer of two names for one option, in any order', () => {
    expect(read({ max_tokens: 50, max_completion_tokens: 60 })).deep.equal({ maxOutputTokens: 60 })
    expect(read({ max_completion_tokens: 60, max_tokens: 50 })).deep.equal({ maxOutputTokens: 60 })
    expect(read({ max_tokens: 50, max_completion_tokens: null })).deep.equal({ maxOutputTokens: 50 })
  })

  it('leave out a limit of tokens with no room for an answer', () => {
    expect(read({ max_tokens: 0 })).equal(undefined)
    expect(read({ max_tokens: -1, seed: 7 })).deep.equal({ seed: 7 })
  })
})
