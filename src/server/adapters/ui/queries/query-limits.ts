import { GraphQLError, Lexer, Source, TokenKind } from 'graphql'

/** More than any page needs; the introspection of the official tools is within. */
const LIMITS = { tokens: 1000, depth: 20, aliases: 50 }

/**
 * Refuses a query that would cost more than it should, before it is parsed: what repeats a field under other names, or
 * nests without end, is cheap to send and expensive to answer.
 *
 * @throws GraphQLError
 */
export function checkQueryLimits(query: string): void {
  const lexer = new Lexer(new Source(query))
  let tokens = 0
  let aliases = 0
  let braces = 0
  let parentheses = 0
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
    if (++tokens > LIMITS.tokens) throw tooMuch('tokens', LIMITS.tokens)
    if (token.kind === TokenKind.BRACE_L) braces++
    else if (token.kind === TokenKind.BRACE_R) braces--
    else if (token.kind === TokenKind.PAREN_L) parentheses++
    else if (token.kind === TokenKind.PAREN_R) parentheses--
    // Within parentheses a colon belongs to an argument or a variable.
    else if (token.kind === TokenKind.COLON && parentheses === 0) aliases++
    if (braces > LIMITS.depth) throw tooMuch('levels', LIMITS.depth)
    if (aliases > LIMITS.aliases) throw tooMuch('aliases', LIMITS.aliases)
  }
}

function tooMuch(what: string, limit: number): GraphQLError {
  return new GraphQLError(`The query has more than ${limit} ${what}.`)
}
