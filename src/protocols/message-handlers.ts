import type { Attachment } from './message.ts'
import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/**
 * Handles the user's message. An agent's entry point is one of the message handlers.
 *
 * @example
 * ```ts
 * export const shouter = defineModule({
 *   name: 'Shouter',
 *   provides: [TextMessageHandler],
 *   uses: { response: Response },
 *   create: ({ response }) => ({ handleText: (text) => response.respondText(text.toUpperCase()) }),
 * })
 * ```
 */
export interface TextMessageHandler {
  /**
   * Answers `text`, the last message of the user, through the `Response` protocol. The turn ends when the promise does.
   *
   * @remarks The host calls it once in each run, after the handlers of attachments: also in a run that continues after a decision, with the same text. A router or a pipeline calls
   * it for its handlers. Not called for a message of attachments alone that other handlers took, nor where a guard answers.
   * @throws unknown fails the run
   */
  handleText(text: string, run: Run): void | Promise<void>
}
export const TextMessageHandler = defineProtocol<TextMessageHandler>('TextMessageHandler', ['handleText'])

/**
 * Handles an image from the user.
 *
 * @example
 * ```ts
 * export const pictures = defineModule({
 *   name: 'Pictures',
 *   provides: [ImageMessageHandler],
 *   uses: { response: Response },
 *   create: ({ response }) => ({ handleImage: (image) => response.respondImage(image) }),
 * })
 * ```
 */
export interface ImageMessageHandler {
  /**
   * Answers an image of the last message of the user.
   *
   * @remarks The host calls it once for each image, in their order, before `handleText`. Without this handler, images stay with the message for models to see.
   * @throws unknown fails the run
   */
  handleImage(image: Attachment, run: Run): void | Promise<void>
}
export const ImageMessageHandler = defineProtocol<ImageMessageHandler>('ImageMessageHandler', ['handleImage'])

/**
 * Handles audio from the user.
 *
 * @example
 * ```ts
 * export const sounds = defineModule({
 *   name: 'Sounds',
 *   provides: [AudioMessageHandler],
 *   uses: { response: Response },
 *   create: ({ response }) => ({ handleAudio: ({ mediaType }) => response.respondText(`I got ${mediaType}.`) }),
 * })
 * ```
 */
export interface AudioMessageHandler {
  /**
   * Answers audio of the last message of the user.
   *
   * @remarks The host calls it as it calls `handleImage`.
   * @throws unknown fails the run
   */
  handleAudio(audio: Attachment, run: Run): void | Promise<void>
}
export const AudioMessageHandler = defineProtocol<AudioMessageHandler>('AudioMessageHandler', ['handleAudio'])

/**
 * Handles a video from the user.
 *
 * @example
 * ```ts
 * export const videos = defineModule({
 *   name: 'Videos',
 *   provides: [VideoMessageHandler],
 *   uses: { response: Response },
 *   create: ({ response }) => ({ handleVideo: ({ name = 'a video' }) => response.respondText(`I got ${name}.`) }),
 * })
 * ```
 */
export interface VideoMessageHandler {
  /**
   * Answers a video of the last message of the user.
   *
   * @remarks The host calls it as it calls `handleImage`.
   * @throws unknown fails the run
   */
  handleVideo(video: Attachment, run: Run): void | Promise<void>
}
export const VideoMessageHandler = defineProtocol<VideoMessageHandler>('VideoMessageHandler', ['handleVideo'])
