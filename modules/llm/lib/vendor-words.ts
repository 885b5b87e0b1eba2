import { fieldsOf, parseJson } from 'agent-host'

/** Words of a vendor in the object of an error, in any of the usual shapes; undefined where it says nothing. */
export function vendorWords(said: unknown): string | undefined {
  // Gemini sends a list.
  const { error, message, detail } = fieldsOf(Array.isArray(said) ? said[0] : said)
  const words = [error, fieldsOf(error).message, message, detail].find(
    (each) => typeof each === 'string' && each !== '',
  )
  return typeof words === 'string' ? words : error ? JSON.stringify(error) : undefined
}

/** Describes a body behind a successful status where an answer was expected: the object of an error, or a page. */
export function describeBody(body: string, status: number): string {
  const place = `behind status ${status}`
  if (body.startsWith('<')) return `a page of HTML ${place}: ${visibleText(body.slice(0, 10_000)).slice(0, 200)}`
  const value = parseJson(body)
  const said = vendorWords(value)
  if (said) return `${said} (an error ${place})`
  return `${value === undefined ? 'text' : 'JSON'} ${place} instead of a stream: ${body.slice(0, 200)}`
}

function visibleText(page: string): string {
  return page
    .replace(/<(script|style)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}
