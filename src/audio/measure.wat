;; Measures of 16-bit samples, eight at a time: JavaScript looks at them one by one, and there are a thousand million in ten
;; hours of speech. Memory: what was found so far in the first 64 bytes, then samples up to `end`, followed by zeros to the next
;; multiple of 16.
;;    0  highest sample in each of eight lanes (i16x8)      32  windows below the power (i32)
;;   16  lowest sample in each of eight lanes (i16x8)       36  samples at full scale (i32)
(module
  (memory (export "memory") 11)
  (func (export "measure")
    (param $end i32)    ;; bytes; all before it are samples
    (param $window i32) ;; bytes, a multiple of 16
    (param $power f64)  ;; mean square below which a window is quiet
    (local $at i32) (local $begin i32) (local $stop i32)
    (local $quiet i32) (local $clipped i32)
    (local $high v128) (local $low v128) (local $samples v128) (local $sum v128)
    (local.set $at (i32.const 64))
    (local.set $high (v128.load (i32.const 0)))
    (local.set $low (v128.load (i32.const 16)))
    (local.set $quiet (i32.load (i32.const 32)))
    (local.set $clipped (i32.load (i32.const 36)))
    (block $measured
      (loop $windows
        (br_if $measured (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $begin (local.get $at))
        (local.set $stop (i32.add (local.get $at) (local.get $window)))
        (if (i32.gt_u (local.get $stop) (local.get $end)) (then (local.set $stop (local.get $end))))
        (local.set $sum (v128.const i64x2 0 0))
        (loop $eight
          (local.set $samples (v128.load (local.get $at)))
          (local.set $high (i16x8.max_s (local.get $high) (local.get $samples)))
          (local.set $low (i16x8.min_s (local.get $low) (local.get $samples)))
          (local.set $clipped
            (i32.add
              (local.get $clipped)
              (i32.popcnt
                (i16x8.bitmask
                  (v128.or
                    (i16x8.eq (local.get $samples) (i16x8.splat (i32.const 32767)))
                    (i16x8.eq (local.get $samples) (i16x8.splat (i32.const -32768))))))))
          ;; Two squares add up to 2^31 at most, which is right as a number without sign.
          (local.set $samples (i32x4.dot_i16x8_s (local.get $samples) (local.get $samples)))
          (local.set $sum
            (i64x2.add
              (local.get $sum)
              (i64x2.add
                (i64x2.extend_low_i32x4_u (local.get $samples))
                (i64x2.extend_high_i32x4_u (local.get $samples)))))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $eight (i32.lt_u (local.get $at) (local.get $stop))))
        (local.set $quiet
          (i32.add
            (local.get $quiet)
            (f64.lt
              (f64.div
                (f64.convert_i64_s
                  (i64.add
                    (i64x2.extract_lane 0 (local.get $sum))
                    (i64x2.extract_lane 1 (local.get $sum))))
                (f64.convert_i32_s
                  (i32.shr_u (i32.sub (local.get $stop) (local.get $begin)) (i32.const 1))))
              (local.get $power))))
        (br $windows)))
    (v128.store (i32.const 0) (local.get $high))
    (v128.store (i32.const 16) (local.get $low))
    (i32.store (i32.const 32) (local.get $quiet))
    (i32.store (i32.const 36) (local.get $clipped))))
