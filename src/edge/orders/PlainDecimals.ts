/** Decimals in a body's fingerprint: trailing zeros of a fraction do not change the body. */
import { plainDecimal } from "../../operations/Fingerprint.js"

interface Triggered {
  readonly triggerPrice: string
  readonly limitPrice?: string
}

interface Closing {
  readonly takeProfit?: Triggered | null
  readonly stopLoss?: Triggered | null
}

interface Body extends Closing {
  readonly price?: string
  readonly quantity?: string
  readonly autoClose?: Closing
}

const plainTrigger = <A extends Triggered>(trigger: A): A => ({
  ...trigger,
  triggerPrice: plainDecimal(trigger.triggerPrice),
  ...(trigger.limitPrice === undefined ? undefined : { limitPrice: plainDecimal(trigger.limitPrice) })
})

/** A body of an order, an amendment or an auto-close with plain decimals. */
export const withPlainDecimals = <A extends Body>(body: A): A => {
  const { autoClose, price, quantity, stopLoss, takeProfit } = body
  return {
    ...body,
    ...(price === undefined ? undefined : { price: plainDecimal(price) }),
    ...(quantity === undefined ? undefined : { quantity: plainDecimal(quantity) }),
    ...(takeProfit === undefined || takeProfit === null ? undefined : { takeProfit: plainTrigger(takeProfit) }),
    ...(stopLoss === undefined || stopLoss === null ? undefined : { stopLoss: plainTrigger(stopLoss) }),
    ...(autoClose === undefined ? undefined : { autoClose: withPlainDecimals(autoClose) })
  }
}
