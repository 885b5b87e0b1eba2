/** Replaces characters that move the cursor of a terminal or colour it: texts of agents, models and files may hold anything. */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
}
