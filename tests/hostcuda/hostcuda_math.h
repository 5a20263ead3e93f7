// hostcuda_math.h - arithmetic and load/store intrinsics of the device language that the host's
// math library lacks. Included by hostcuda.h. The approximate forms are exact here.
#ifndef HOSTCUDA_MATH_H
#define HOSTCUDA_MATH_H

using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;

inline float rsqrtf(float x)
{
    return 1.0f / std::sqrt(x);
}
inline double rsqrt(double x)
{
    return 1.0 / std::sqrt(x);
}
inline float rcbrtf(float x)
{
    return 1.0f / std::cbrt(x);
}
inline void sincospi(double x, double *s, double *c)
{
    ::sincos(M_PI * (x - 2.0 * std::floor(x / 2.0)), s, c);
}
inline void sincospif(float x, float *s, float *c)
{
    double ds, dc;
    sincospi(x, &ds, &dc);
    *s = (float)ds;
    *c = (float)dc;
}
inline double sinpi(double x)
{
    double s, c;
    sincospi(x, &s, &c);
    return s;
}
inline double cospi(double x)
{
    double s, c;
    sincospi(x, &s, &c);
    return c;
}
inline float sinpif(float x)
{
    return (float)sinpi(x);
}
inline float cospif(float x)
{
    return (float)cospi(x);
}
inline float norm3df(float a, float b, float c)
{
    return std::sqrt(a * a + b * b + c * c);
}
inline double norm3d(double a, double b, double c)
{
    return std::sqrt(a * a + b * b + c * c);
}

#define HC_UNARY(name, type, expression)                                                           \
    inline type name(type x)                                                                       \
    {                                                                                              \
        return expression;                                                                         \
    }
HC_UNARY(__expf, float, std::exp(x))
HC_UNARY(__exp10f, float, std::pow(10.0f, x))
HC_UNARY(__logf, float, std::log(x))
HC_UNARY(__log2f, float, std::log2(x))
HC_UNARY(__log10f, float, std::log10(x))
HC_UNARY(__sinf, float, std::sin(x))
HC_UNARY(__cosf, float, std::cos(x))
HC_UNARY(__tanf, float, std::tan(x))
HC_UNARY(__fsqrt_rn, float, std::sqrt(x))
HC_UNARY(__dsqrt_rn, double, std::sqrt(x))
HC_UNARY(__frcp_rn, float, 1.0f / x)
HC_UNARY(__drcp_rn, double, 1.0 / x)
HC_UNARY(__frsqrt_rn, float, 1.0f / std::sqrt(x))
HC_UNARY(__saturatef, float, x<0 ? 0 : x> 1 ? 1 : x)
#undef HC_UNARY

inline void __sincosf(float x, float *s, float *c)
{
    ::sincosf(x, s, c);
}
inline float __powf(float x, float y)
{
    return std::pow(x, y);
}

#define HC_BINARY(name, type, expression)                                                          \
    inline type name(type a, type b)                                                               \
    {                                                                                              \
        return expression;                                                                         \
    }
HC_BINARY(__fdividef, float, a / b)
HC_BINARY(__fdiv_rn, float, a / b)
HC_BINARY(__ddiv_rn, double, a / b)
HC_BINARY(__fadd_rn, float, a + b)
HC_BINARY(__fsub_rn, float, a - b)
HC_BINARY(__fmul_rn, float, a *b)
HC_BINARY(__dadd_rn, double, a + b)
HC_BINARY(__dsub_rn, double, a - b)
HC_BINARY(__dmul_rn, double, a *b)
HC_BINARY(__mul24, int, a *b)
HC_BINARY(__umul24, unsigned, a *b)
#undef HC_BINARY

inline float __fmaf_rn(float a, float b, float c)
{
    return std::fma(a, b, c);
}
inline double __fma_rn(double a, double b, double c)
{
    return std::fma(a, b, c);
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)(((uint64_t)a * b) >> 32);
}
inline int __mulhi(int a, int b)
{
    return (int)(((int64_t)a * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}

#define HC_CONVERT(name, to, from, expression)                                                     \
    inline to name(from x)                                                                         \
    {                                                                                              \
        return (to)(expression);                                                                   \
    }
HC_CONVERT(__float2int_rd, int, float, std::floor(x))
HC_CONVERT(__float2int_ru, int, float, std::ceil(x))
HC_CONVERT(__float2int_rn, int, float, std::nearbyint(x))
HC_CONVERT(__float2int_rz, int, float, std::trunc(x))
HC_CONVERT(__float2uint_rz, unsigned, float, std::trunc(x))
HC_CONVERT(__float2uint_rn, unsigned, float, std::nearbyint(x))
HC_CONVERT(__float2ll_rn, long long, float, std::nearbyint(x))
HC_CONVERT(__float2ll_rd, long long, float, std::floor(x))
HC_CONVERT(__double2int_rd, int, double, std::floor(x))
HC_CONVERT(__double2int_ru, int, double, std::ceil(x))
HC_CONVERT(__double2int_rn, int, double, std::nearbyint(x))
HC_CONVERT(__double2int_rz, int, double, std::trunc(x))
HC_CONVERT(__double2ll_rn, long long, double, std::nearbyint(x))
HC_CONVERT(__double2ll_rd, long long, double, std::floor(x))
HC_CONVERT(__double2ll_rz, long long, double, std::trunc(x))
HC_CONVERT(__double2float_rn, float, double, x)
HC_CONVERT(__int2float_rn, float, int, x)
HC_CONVERT(__int2double_rn, double, int, x)
HC_CONVERT(__uint2float_rn, float, unsigned, x)
HC_CONVERT(__uint2double_rn, double, unsigned, x)
HC_CONVERT(__ll2double_rn, double, long long, x)
HC_CONVERT(__ull2double_rn, double, unsigned long long, x)
HC_CONVERT(__ull2float_rn, float, unsigned long long, x)
#undef HC_CONVERT

#define HC_REINTERPRET(name, to, from)                                                             \
    inline to name(from x)                                                                         \
    {                                                                                              \
        return hc::from_bits<to>(hc::to_bits(x));                                                  \
    }
HC_REINTERPRET(__float_as_int, int, float)
HC_REINTERPRET(__float_as_uint, unsigned, float)
HC_REINTERPRET(__int_as_float, float, int)
HC_REINTERPRET(__uint_as_float, float, unsigned)
HC_REINTERPRET(__double_as_longlong, long long, double)
HC_REINTERPRET(__longlong_as_double, double, long long)
#undef HC_REINTERPRET

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline unsigned __brev(unsigned x)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++) {
        r |= ((x >> i) & 1u) << (31 - i);
    }
    return r;
}

#define HC_LOAD(name)                                                                              \
    template <class T> inline T name(const T *p)                                                   \
    {                                                                                              \
        return *p;                                                                                 \
    }
HC_LOAD(__ldg)
HC_LOAD(__ldca)
HC_LOAD(__ldcg)
HC_LOAD(__ldcs)
HC_LOAD(__ldlu)
HC_LOAD(__ldcv)
#undef HC_LOAD

#define HC_STORE(name)                                                                             \
    template <class T> inline void name(T *p, typename hc::Identity<T>::type value)                \
    {                                                                                              \
        *p = value;                                                                                \
    }
HC_STORE(__stwb)
HC_STORE(__stcg)
HC_STORE(__stcs)
HC_STORE(__stwt)
#undef HC_STORE

inline long long clock64()
{
    static long long ticks = 0;
    return ++ticks;
}

#endif
