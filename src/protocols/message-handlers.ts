import type { Attachment } from './message.ts'
import { defineProtocol } from './protocol.ts'
import type { Run } from './run.ts'

/** Handles the user's message. An agent's entry point is one of the message handlers. */
export interface TextMessageHandler {
  /**
   * Answers `text`, the last message of the user, through the `Response` protocol. The turn ends when the promise does.
   * What it throws fails the run.
   */
  handleText(text: string, run: Run): void | Promise<void>
}
export const TextMessageHandler = defineProtocol<TextMessageHandler>('TextMessageHandler', ['handleText'])

/** Handles an image from the user. */
export interface ImageMessageHandler {
  handleImage(image: Attachment, run: Run): void | Promise<void>
}
export const ImageMessageHandler = defineProtocol<ImageMessageHandler>('ImageMessageHandler', ['handleImage'])

/** Handles audio from the user. */
export interface AudioMessageHandler {
  handleAudio(audio: Attachment, run: Run): void | Promise<void>
}
export const AudioMessageHandler = defineProtocol<AudioMessageHandler>('AudioMessageHandler', ['handleAudio'])

/** Handles a video from the user. */
export interface VideoMessageHandler {
  handleVideo(video: Attachment, run: Run): void | Promise<void>
}
export const VideoMessageHandler = defineProtocol<VideoMessageHandler>('VideoMessageHandler', ['handleVideo'])
